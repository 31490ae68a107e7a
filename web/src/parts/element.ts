// Makes elements; text is always text, never markup.

type Child = Node | string | null | false | undefined;
type Value = string | number | boolean | null | undefined | ((event: never) => void);

export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, Value> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  setAttributes(made, attributes);
  add(made, children);
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, Value> = {},
  ...children: Child[]
): SVGElementTagNameMap[Tag] {
  const made = document.createElementNS(SVG, tag);
  setAttributes(made, attributes);
  add(made, children);
  return made;
}

/** `onclick: f` listens; true sets an attribute without value; false, null and undefined leave it out. */
function setAttributes(made: Element, attributes: Record<string, Value>): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") {
      made.addEventListener(name.replace(/^on/, ""), value as (event: Event) => void);
    } else if (name === "style") {
      (made as HTMLElement).style.cssText = String(value); // a style attribute is refused by our own CSP
    } else {
      made.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

function add(made: Element, children: Child[]): void {
  for (const child of children)
    if (child !== null && child !== false && child !== undefined) made.append(child);
}
