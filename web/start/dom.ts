/** The page's own elements. Text always becomes text nodes, so nothing that a peer sends can become markup. */

/** An element of index.html, which must exist. */
export function $<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`index.html has no element with the id ${id}`);
  return element as T;
}

export function h(
  tag: string,
  attributes: Readonly<Record<string, string>> = {},
  ...children: (Node | string)[]
): HTMLElement {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
