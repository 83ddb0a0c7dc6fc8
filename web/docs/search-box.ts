/** The search field: `/` goes there, arrows choose a section, Enter opens it, Escape closes the list. The index is loaded with the first use. */
import { type DocsIndex, type Hit, Search } from "./search.ts";

declare global {
  /** Set by the script of the index. */
  var parleyDocs: DocsIndex | undefined;
}

export class SearchBox {
  private readonly box = element<HTMLElement>(".search");
  private readonly input = element<HTMLInputElement>("#search");
  private readonly list = element<HTMLElement>("#hits");
  private readonly found = element<HTMLElement>("#found");
  private search: Promise<Search> | undefined;
  /** Bound: HITS_MAX of the search. */
  private hits: readonly Hit[] = [];
  private chosen = -1;

  show(): void {
    this.box.hidden = false;
    this.input.addEventListener("focus", () => void this.loaded().catch(() => undefined));
    this.input.addEventListener("input", () => void this.update());
    this.input.addEventListener("keydown", (event) => this.key(event));
    // Before the field loses the focus, which closes the list.
    this.list.addEventListener("mousedown", (event) => event.preventDefault());
    this.list.addEventListener("click", (event) => {
      const at = [...this.list.children].indexOf((event.target as Element).closest("[role=option]") ?? this.list);
      if (at >= 0) this.open(at);
    });
    this.input.addEventListener("blur", () => this.close());
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return;
      event.preventDefault();
      this.input.focus();
      this.input.select();
    });
  }

  private loaded(): Promise<Search> {
    this.search ??= loadIndex(document.body.dataset.search ?? "").then(
      (index) => new Search(index),
      (error) => {
        // The next key tries again.
        this.search = undefined;
        throw error;
      },
    );
    return this.search;
  }

  private async update(): Promise<void> {
    const query = this.input.value.trim();
    if (query === "") return this.close();
    try {
      const search = await this.loaded();
      // Meanwhile more may have been written: that has an update of its own.
      if (query === this.input.value.trim()) this.draw(search.find(query));
    } catch {
      this.say("The search index could not be loaded. Check your connection and try again.");
    }
  }

  private draw(hits: readonly Hit[]): void {
    this.hits = hits;
    if (hits.length === 0) return this.say("No pages match. Try fewer or other terms.");
    this.list.replaceChildren(...hits.map((hit, at) => option(hit, at)));
    this.expand(true);
    this.choose(0);
    this.found.textContent = hits.length === 1 ? "1 section found" : `${hits.length} sections found`;
  }

  /** In place of results. */
  private say(text: string): void {
    this.hits = [];
    const line = document.createElement("div");
    line.className = "none";
    line.role = "presentation";
    line.textContent = text;
    this.list.replaceChildren(line);
    this.expand(true);
    this.choose(-1);
    this.found.textContent = text;
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      if (this.list.hidden) this.input.blur();
      this.close();
    } else if (this.list.hidden || this.hits.length === 0) return;
    else if (event.key === "ArrowDown") this.choose((this.chosen + 1) % this.hits.length);
    else if (event.key === "ArrowUp") this.choose((this.chosen + this.hits.length - 1) % this.hits.length);
    else if (event.key === "Enter") this.open(this.chosen);
    else return;
    event.preventDefault();
  }

  private choose(at: number): void {
    this.chosen = at;
    for (const [place, one] of [...this.list.children].entries())
      if (one.role === "option") one.ariaSelected = String(place === at);
    const chosen = this.list.children[at];
    if (chosen) this.input.setAttribute("aria-activedescendant", chosen.id);
    else this.input.removeAttribute("aria-activedescendant");
    chosen?.scrollIntoView({ block: "nearest" });
  }

  private open(at: number): void {
    const hit = this.hits[at];
    if (!hit) return;
    const { root = "", suffix = "" } = document.body.dataset;
    this.close();
    this.input.blur();
    location.assign(`${root}${hit.path}${suffix}${hit.id && `#${hit.id}`}`);
  }

  private close(): void {
    this.expand(false);
    this.choose(-1);
    this.found.textContent = "";
  }

  private expand(isOpen: boolean): void {
    this.list.hidden = !isOpen;
    this.input.ariaExpanded = String(isOpen);
  }
}

function element<T extends HTMLElement>(selector: string): T {
  const found = document.querySelector<T>(selector);
  if (!found) throw new Error(`the page has no ${selector}`);
  return found;
}

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;

/** As a script: pages opened as files may load nothing else. */
function loadIndex(address: string): Promise<DocsIndex> {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.dataset.later = "";
    script.addEventListener("load", () =>
      globalThis.parleyDocs ? resolve(globalThis.parleyDocs) : reject(new Error("the index is empty")),
    );
    script.addEventListener("error", () => {
      script.remove();
      reject(new Error("the index could not be loaded"));
    });
    document.head.append(script);
  });
}

function option({ page, id, heading, excerpt }: Hit, at: number): HTMLElement {
  const line = document.createElement("div");
  line.id = `hit-${at}`;
  line.role = "option";
  line.ariaSelected = "false";
  const title = document.createElement("strong");
  title.textContent = id === "" ? page : `${page} › ${heading}`;
  const text = document.createElement("span");
  text.append(...excerpt.map(({ text, isTerm }) => (isTerm ? marked(text) : text)));
  line.append(title, text);
  return line;
}

function marked(text: string): HTMLElement {
  const mark = document.createElement("mark");
  mark.textContent = text;
  return mark;
}
