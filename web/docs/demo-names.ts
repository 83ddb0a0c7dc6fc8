/**
 * Code with the names of this service's demo in place of the examples' own, so that it runs as it is copied. Only a browser on the service's
 * machine gets them; for others, and in a folder of files, the code stays as it is written.
 */
export interface DemoNames {
  /** Without one, there is no demo for this browser. */
  readonly publishableKey?: string;
}

const SAMPLE = /(https?:\/\/|wss?:\/\/|\b)(localhost|127\.0\.0\.1):8080\b|pk_live_…/g;

export async function demoNames(address: string): Promise<DemoNames> {
  if (address === "") return {};
  // Without them the page is as good as before.
  const response = await fetch(address, { cache: "no-store", credentials: "omit" }).catch(() => undefined);
  return response?.ok ? ((await response.json().catch(() => ({}))) as DemoNames) : {};
}

export async function fillIn(address: string): Promise<void> {
  const texts = [...document.querySelectorAll(".code code")].flatMap((code) => {
    const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    const found: Text[] = [];
    while (walker.nextNode()) if (walker.currentNode instanceof Text) found.push(walker.currentNode);
    return found.filter(({ data }) => data.search(SAMPLE) >= 0);
  });
  if (texts.length === 0) return;
  const { publishableKey } = await demoNames(address);
  if (!publishableKey) return;
  const fill = (sample: string, scheme = ""): string =>
    sample.startsWith("pk_") ? publishableKey : scheme.replace(/(http|ws)s?/, sameSecurity) + location.host;
  for (const text of texts) text.replaceWith(...pieces(text.data, fill));
}

const sameSecurity = (_all: string, kind: string): string => (location.protocol === "https:" ? `${kind}s` : kind);

function pieces(text: string, fill: (sample: string, scheme?: string) => string): (Node | string)[] {
  const list: (Node | string)[] = [];
  let end = 0;
  for (const match of text.matchAll(SAMPLE)) {
    const [sample, scheme] = match;
    const filled = fill(sample, scheme);
    list.push(text.slice(end, match.index), filled === sample ? sample : marked(filled));
    end = match.index + sample.length;
  }
  return [...list, text.slice(end)];
}

function marked(text: string): HTMLElement {
  const mark = document.createElement("mark");
  mark.className = "filled";
  mark.title = "From the demo of this service";
  mark.textContent = text;
  return mark;
}
