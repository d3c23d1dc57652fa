"use strict";

// A number to sort by: data-value if the cell has one, else its text; what is no number goes last either way.
function key(row, column, numeric) {
  const cell = row.cells[column];
  const text = (cell.dataset.value ?? cell.textContent).trim();
  if (!numeric) return text.toLowerCase();
  const value = text === "" ? NaN : parseFloat(text.replace("−", "-").replace(",", ""));
  return Number.isNaN(value) ? null : value;
}

function sort(table, column, numeric, direction) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => ({ row, value: key(row, column, numeric) }));
  rows.sort((a, b) => {
    if (a.value === null || b.value === null) return (a.value === null) - (b.value === null);
    const order = numeric ? a.value - b.value : a.value.localeCompare(b.value, "en", { numeric: true });
    return direction * order;
  });
  body.append(...rows.map((entry) => entry.row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    head.firstElementChild.addEventListener("click", () => {
      const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
      sort(table, column, head.dataset.kind === "number", direction);
    });
  });
}

document.getElementById("verdict").addEventListener("change", (event) => {
  const wanted = event.target.value;
  for (const row of document.querySelectorAll("tr[data-verdict]")) {
    row.hidden = wanted !== "" && row.dataset.verdict !== wanted;
  }
});

// A link into something folded opens it.
function reveal() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  for (let node = target; node; node = node.parentElement) {
    if (node.tagName === "DETAILS") node.open = true;
  }
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();
