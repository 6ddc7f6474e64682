#!/bin/bash
# DCMTK 3.6.7 (Debian) leaves Nagle's algorithm on, although its documentation says that it switches it off: storescu and
# storescp take about 45 to 95 ms a small image over the loopback, and 1 to 5 ms with TCP_NODELAY=1 on both sides. A receiver
# that acknowledges at once (TCP_QUICKACK) mends it for senders of the default, too.
# Guess before: tens of images a millisecond apart, by default.  Exits 1 if the default is less than three times as slow.
set -eu
version=$(/usr/bin/storescu --version | head -1); echo "$version"
[[ $version == *v3.6.7* ]] || { echo "another version"; exit 1; }
work=$(mktemp -d); trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir "$work/in"
for k in $(seq 300); do
    cat > "$work/dump" <<DUMP
(0008,0016) UI [1.2.840.10008.5.1.4.1.1.4]
(0008,0018) UI [1.2.826.0.1.3680043.8.498.9.$k]
(0010,0020) LO [P]
(0020,000d) UI [1.2.826.0.1.3680043.8.498.9]
(0020,000e) UI [1.2.826.0.1.3680043.8.498.9.0]
DUMP
    /usr/bin/dump2dcm "$work/dump" "$work/in/$k.dcm" 2>/dev/null
done
milliseconds_of_all() {      # PORT [TCP_NODELAY=1]
    local port=$1; shift
    mkdir "$work/$port"
    env "$@" /usr/bin/storescp -od "$work/$port" "$port" >/dev/null 2>&1 &
    for _ in $(seq 50); do (: < "/dev/tcp/127.0.0.1/$port") 2>/dev/null && break; sleep 0.1; done
    local began; began=$(date +%s%N)
    env "$@" /usr/bin/storescu +sd 127.0.0.1 "$port" "$work/in" >/dev/null 2>&1
    echo $(( ($(date +%s%N) - began) / 1000000 ))
}
default=$(milliseconds_of_all 24461); without=$(seconds_per_60 24462 TCP_NODELAY="${NODELAY:-1}")
echo "300 images: $default ms by default, $without ms with TCP_NODELAY=${NODELAY:-1}"
(( default > 3 * without )) || { echo "changed: the default is not three times as slow"; exit 1; }
