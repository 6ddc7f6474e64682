// One slice at a time, cut from the contact sheet; without this the sheet itself is the view.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const sheet = document.getElementById("sheet"), place = document.getElementById("place");
  const canvas = document.getElementById("slice"), readout = document.getElementById("readout"), cursor = document.getElementById("cursor");
  function show() {
    const at = Number(place.value), side = sheet.naturalWidth / data.across;
    const x = at % data.across, y = Math.floor(at / data.across);
    canvas.getContext("2d").drawImage(sheet, x * side, y * side, side, side, 0, 0, canvas.width, canvas.height);
    readout.textContent = String(data.mm[at]).replace("-", "\u2212") + " mm, slice " + data.slice[at] + ": " + data.predicted[at] + (data.sure[at] === null ? " (not sure)" : " (confidence " + data.sure[at].toFixed(2) + ")");
    place.setAttribute("aria-valuetext", readout.textContent);
    cursor.setAttribute("y1", data.down[at]);
    cursor.setAttribute("y2", data.down[at]);
  }
  function start() {
    document.getElementById("viewer").hidden = false;
    document.getElementById("strip").open = false;
    show();
  }
  place.addEventListener("input", show);
  if (sheet.complete) { start(); } else { sheet.addEventListener("load", start); }
})();
