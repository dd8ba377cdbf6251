// What is wrong with the page, as a list of sentences: text that stands out too little from what is behind it, controls
// without a name, and a page that is wider than the window.
(() => {
  const faults = [];
  const rgba = (s) => (s.match(/[\d.]+/g) || []).map(Number);
  const linear = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  const luminance = (c) => { const [r, g, b] = linear(c); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const contrast = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgba(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  for (const e of document.querySelectorAll("h1, h2, h3, p, th, td, li, label, button, .button, select, textarea, summary, pre span, .gutter span, .chip, .lanes span, output, strong")) {
    if (!e.textContent.trim() && !e.value || !e.checkVisibility()) continue;
    const ratio = contrast(rgba(getComputedStyle(e).color), behind(e));
    if (ratio < 4.5) faults.push(`${e.tagName}.${e.className} ${e.textContent.trim().slice(0, 30)}: contrast ${ratio.toFixed(2)}, want 4.5`);
  }
  for (const e of document.querySelectorAll("button, select, textarea, input")) {
    if (e.checkVisibility() && !e.textContent.trim() && !e.ariaLabel && !e.labels?.length) faults.push(`${e.tagName} #${e.id} has no name`);
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.push(`the page is ${document.documentElement.scrollWidth} wide in a window of ${innerWidth}`);
  return { faults: [...new Set(faults)], page: getComputedStyle(document.body).backgroundColor };
})()
