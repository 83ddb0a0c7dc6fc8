/** Draws the OpenAPI document of this service as a page. */
import { type ApiDocument, operationsOf, type Placed } from "./document.ts";
import { h, prose } from "./dom.ts";
import { Operations } from "./operations.ts";

const link = ({ method, operation, path }: Placed): HTMLElement =>
  h(
    "li",
    {},
    h(
      "a",
      { href: `#${operation.operationId}` },
      h("span", { class: `method ${method}` }, method.toUpperCase()),
      h("span", {}, operation.summary ?? path),
    ),
  );

function draw(api: ApiDocument): void {
  const operations = new Operations(api);
  const groups = Map.groupBy(operationsOf(api), ({ operation }) => operation.tags?.[0] ?? "other");
  const { title, version, description } = api.info;
  document.title = `${title} API reference`;
  document
    .getElementById("title")
    ?.replaceChildren(`${title} API `, h("span", { class: "version" }, `version ${version}`));
  if (description) document.getElementById("about")?.before(h("p", {}, prose(description)));
  const list = h("details", {}, h("summary", {}, "Contents")) as HTMLDetailsElement;
  for (const [tag, group] of groups) {
    list.append(h("h2", {}, tag), h("ul", {}, group.map(link)));
    document.querySelector("main")?.append(h("h2", {}, tag), ...group.map((one) => operations.section(one)));
  }
  document.querySelector("nav")?.append(list);
  list.open = matchMedia("(min-width: 62rem)").matches;
  // The element that the fragment names exists only now, so scroll to it again.
  if (location.hash) location.replace(location.hash);
}

const RETRY_MS = 3000;

/** The service may restart: the page tries until it has the document. */
async function load(): Promise<ApiDocument> {
  for (;;) {
    try {
      const response = await fetch("/openapi.json");
      if (!response.ok) throw new Error(`the server responded with ${response.status}`);
      return (await response.json()) as ApiDocument;
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      problem.textContent = `The description at /openapi.json could not be loaded: ${text}. This page retries every few seconds.`;
      document.querySelector("main")?.append(problem);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

const problem = h("p", { role: "alert" });
const found = await load();
problem.remove();
draw(found);
