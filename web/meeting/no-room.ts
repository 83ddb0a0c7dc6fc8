/**
 * The only script of a page without a meeting: there is no such room, or no such application. The address may carry a token, which can be good for other
 * rooms: it is taken out. The page is complete in one language; the menu has the others.
 */
import { takeFromAddress } from "./page/address.ts";
import { keep, kept } from "./page/storage.ts";
import { LANGUAGE_NAMES } from "./texts/names.ts";

type Texts = Readonly<Record<string, { readonly title: string; readonly text: string; readonly language: string }>>;

takeFromAddress();
addEventListener("DOMContentLoaded", showLanguages);

function showLanguages(): void {
  const texts = JSON.parse(document.body.dataset.closed ?? "{}") as Texts;
  const [label, menu, foot] = (["label", "select", "footer"] as const).map((name) => document.createElement(name));
  const [heading, line] = [document.querySelector("h1"), document.querySelector("p")];
  if (!(menu instanceof HTMLSelectElement) || !label || !foot || !heading || !line?.firstChild) return;
  const show = (tag: string): void => {
    const chosen = texts[tag];
    if (!chosen) return;
    document.documentElement.lang = menu.value = tag;
    document.title = heading.textContent = chosen.title;
    // An address may follow.
    line.firstChild?.replaceWith(chosen.text);
    label.textContent = chosen.language;
  };
  menu.append(...Object.entries(LANGUAGE_NAMES).map(([tag, name]) => new Option(name, tag)));
  menu.id = "language";
  label.setAttribute("for", menu.id);
  menu.addEventListener("change", () => {
    show(menu.value);
    keep("local", "language", menu.value);
  });
  const box = document.createElement("div");
  box.className = "language";
  box.append(label, menu);
  foot.className = "foot";
  foot.append(box);
  document.querySelector("main")?.after(foot);
  show(document.documentElement.lang);
  show(kept("local", "language") ?? "");
}
