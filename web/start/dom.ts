/** The page's own elements. Text always becomes text nodes, so nothing that a peer sends can become markup. */

/** An element of index.html, which must exist. */
export function $<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`index.html has no element with the id ${id}`);
  return element as T;
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string>> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function button(label: string, act: () => void, kind = "small"): HTMLButtonElement {
  const element = h("button", { type: "button", class: kind }, label);
  element.addEventListener("click", act);
  return element;
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
