// Before the first paint: the theme that was chosen, else that of the system (by the style sheet).
const chosen = localStorage.getItem("theme");
if (chosen) document.documentElement.dataset.theme = chosen;
