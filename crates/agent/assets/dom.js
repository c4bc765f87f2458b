// Makes elements. Text is always text, never markup, so nothing that was counted can become code.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element with attributes and children; functions are listeners, `null` is left out. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element, made in the same way. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Text at a fixed place in a drawing. */
export function mark(text, x, y, className) {
  return svg("text", { x, y, class: className }, text);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      element.addEventListener(name, value);
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}
