#!/bin/sh
# npm "ignore" 7.0.8, with which bids-validator 3.0.2 reads .bidsignore, and git itself.
# Guess: `*_b_*.json` hides x_a_b_1.json, as in .gitignore, whose rules the package promises.
# Found: of two stars with text behind them, 7.0.8 lets the first take no character with which that text begins
# (`(?:(?!_)[^/])*_b_`): a name with an earlier _ is not hidden.  git, and ignore 5.3.2, hide it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent new@npm:ignore@7.0.8 old@npm:ignore@5.3.2 >/dev/null
cat >ask.js <<'JS'
const version = name => require(`${name}/package.json`).version
const names = ["a_b_1.json", "x_a_b_1.json"]
for (const name of ["new", "old"]) {
  const rules = require(name)().add("*_b_*.json")
  console.log(`ignore ${version(name)}`, ...names.map(each => rules.ignores(each)))
}
JS
git init --quiet repository
echo '*_b_*.json' >repository/.gitignore
{
    node ask.js
    echo "git $(cd repository && git check-ignore a_b_1.json x_a_b_1.json | wc -l) of 2"
} | tee seen.txt
cat >wanted.txt <<'TEXT'
ignore 7.0.8 true false
ignore 5.3.2 true true
git 2 of 2
TEXT
diff wanted.txt seen.txt || { echo "the behaviour has changed"; exit 1; }
