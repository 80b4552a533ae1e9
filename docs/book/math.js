// Blocks `math` are typeset by MathJax. Without a network they stay as they are, in TeX.
window.addEventListener("load", () => {
    if (!window.MathJax) return;
    for (const code of document.querySelectorAll("code.language-math")) {
        const formula = document.createElement("div");
        formula.textContent = "\\[" + code.textContent + "\\]";
        code.parentElement.replaceWith(formula);
    }
    MathJax.Hub.Queue(["Typeset", MathJax.Hub]);
});
