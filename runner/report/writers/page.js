// the buttons beside commands: without this script they stay hidden, and the commands can be read all the same
for (const button of document.querySelectorAll(".again button")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    getSelection().selectAllChildren(button.previousElementSibling);
    // works in a page from disk and without a permission, which the clipboard's own interface does not everywhere
    button.textContent = document.execCommand("copy") ? "copied" : "selected";
  });
}
// a click on a column's title sorts the lines of each group by it, another click the other way
const read = (row, column) => row.cells[column]?.textContent.trim() ?? "";
const number = text => parseFloat(text.replaceAll(",", ""));
for (const title of document.querySelectorAll("thead th")) {
  title.tabIndex = 0;
  title.classList.add("sorts");
  const sort = () => {
    const way = title.ariaSort === "descending" ? 1 : -1;
    for (const other of title.parentElement.cells) other.removeAttribute("aria-sort");
    title.ariaSort = way > 0 ? "ascending" : "descending";
    for (const group of title.closest("table").tBodies) {
      const lines = [...group.rows].filter(row => !row.classList.contains("group"));
      lines.sort((one, other) => {
        const [a, b] = [one, other].map(row => read(row, title.cellIndex));
        return way * (isNaN(number(a)) || isNaN(number(b)) ? a.localeCompare(b) : number(a) - number(b));
      });
      group.append(...lines);
    }
  };
  title.addEventListener("click", sort);
  title.addEventListener("keydown", event => event.key === "Enter" && sort());
}
