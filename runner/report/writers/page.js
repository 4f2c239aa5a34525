// the buttons beside commands: without this script they stay hidden, and the commands can be read all the same
for (const button of document.querySelectorAll(".again button")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    getSelection().selectAllChildren(button.previousElementSibling);
    // works in a page from disk and without a permission, which the clipboard's own interface does not everywhere
    button.textContent = document.execCommand("copy") ? "copied" : "selected";
  });
}
