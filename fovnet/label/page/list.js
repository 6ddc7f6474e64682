// The list of all volumes, to go to one of them.

const MOST = 200;           // rows at once: thousands would take a second to lay out

function row([index, name, state]) {
  const button = Object.assign(document.createElement("button"), { type: "submit", value: index });
  button.append(name, Object.assign(document.createElement("i"), { textContent: state }));
  return button;
}

// The index of the volume that is picked, or null.  `volumes` are [index, name, state], in order.
export function picked(dialog, volumes) {
  const [name, state, count, rows] = ["name", "state", "count", "rows"].map(part => dialog.querySelector(`#list-${part}`));
  const draw = () => {
    const part = name.value.trim().toLowerCase();
    const found = volumes.filter(one => one[1].toLowerCase().includes(part) && (!state.value || one[2] === state.value));
    count.textContent = `${found.length.toLocaleString("en")} of ${volumes.length.toLocaleString("en")}${found.length > MOST ? `; the first ${MOST} are listed` : ""}`;
    rows.replaceChildren(...found.slice(0, MOST).map(row));
    rows.scrollTop = 0;
  };
  name.value = state.value = "";
  name.oninput = state.onchange = draw;
  draw();
  dialog.returnValue = "";
  dialog.showModal();
  name.focus();
  return new Promise(done => dialog.addEventListener("close", () =>
    done(dialog.returnValue === "" ? null : Number(dialog.returnValue)), { once: true }));
}
