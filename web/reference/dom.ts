/** Elements. Text always becomes text nodes, so nothing in the document can become markup. */

export type Child = Node | string | undefined | readonly Child[];

export function h(tag: string, attributes: Readonly<Record<string, string>> = {}, ...children: Child[]): HTMLElement {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...flat(children));
  return element;
}

const flat = (children: readonly Child[]): (Node | string)[] =>
  children.flatMap((child) => {
    if (child === undefined || child === "") return [];
    return typeof child === "string" || child instanceof Node ? [child] : flat(child);
  });

/** Renders the `code` in a description. */
export const prose = (text = ""): Child[] => text.split("`").map((part, at) => (at % 2 ? h("code", {}, part) : part));

/** Lets a long path wrap after its slashes. */
export const breakable = (path: string): Child[] => path.split(/(?<=\/)/).flatMap((part) => [part, h("wbr")]);
