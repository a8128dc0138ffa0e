const input = document.createElement("input");
input.type = "search";
input.placeholder = "Filter by text: a root module, a provider, a code";
input.setAttribute("aria-label", input.placeholder);
document.getElementById("filter").append(input);
input.addEventListener("input", () => {
  const wanted = input.value.toLowerCase();
  for (const item of document.querySelectorAll("article, tr[class]")) {
    item.hidden = !item.textContent.toLowerCase().includes(wanted);
  }
});
