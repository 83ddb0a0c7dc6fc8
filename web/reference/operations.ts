/** Draws the operations: address, credential, example, parameters, bodies, problems. */
import { type ApiDocument, type Content, type Operation, type Parameter, type Placed, placeOf } from "./document.ts";
import { breakable, type Child, h, prose } from "./dom.ts";
import { copyable, credentialsOf, Examples } from "./examples.ts";
import { type Schema, Schemas } from "./schema.ts";
import { tryIt } from "./try.ts";

/** For calls to an application by the service's own host. */
const APP_HEADER = "X-Parley-App";

export class Operations {
  private readonly schemas: Schemas;
  private readonly examples: Examples;

  constructor(
    private readonly api: ApiDocument,
    /** The service runs its demo: examples name its application. */
    private readonly hasDemo: boolean,
  ) {
    this.schemas = new Schemas(api);
    this.examples = new Examples(api, this.schemas, this.known);
  }

  private get known(): Readonly<Record<string, string>> {
    return this.hasDemo ? { app: "demo", [APP_HEADER]: "demo" } : {};
  }

  section(placed: Placed): HTMLElement {
    const { method, path, operation, shared } = placed;
    const parameters = [...shared, ...(operation.parameters ?? [])].map((one) => this.schemas.resolve(one).schema);
    const responses = Object.entries(operation.responses ?? {}).map(
      ([status, one]) => [status, this.schemas.resolve(one).schema] as const,
    );
    const body = operation.requestBody && this.schemas.resolve(operation.requestBody).schema;
    const id = operation.operationId;
    const resolved = { ...placed, operation: { ...operation, ...(body && { requestBody: body }) } };
    return h(
      "section",
      { id, class: "card" },
      h(
        "div",
        { class: "head" },
        h("h3", {}, operation.summary ?? path),
        h(
          "p",
          { class: "address" },
          h("span", { class: `method ${method}` }, method.toUpperCase()),
          h("a", { href: `#${id}` }, h("code", {}, breakable(path))),
        ),
        operation.description && h("p", {}, prose(operation.description)),
        this.credentialLine(operation),
      ),
      h(
        "div",
        { class: "aside" },
        h("h4", {}, "Example"),
        copyable(this.examples.curl(resolved, parameters)),
        this.trial(resolved, parameters),
      ),
      h(
        "div",
        { class: "detail" },
        parameters.length > 0
          ? [h("h4", {}, "Parameters"), fieldTable(parameters.map((one) => this.parameterRow(one)))]
          : [],
        body ? [h("h4", {}, "Request body"), ...this.contents(body)] : [],
        responses
          .filter(([status]) => status < "400")
          .flatMap(([status, one]) => [
            h("h4", {}, "Response ", h("span", {}, status)),
            h("div", { class: "response" }, this.contents(one)),
          ]),
        this.problems(responses.filter(([status]) => status >= "400")),
      ),
    );
  }

  private trial(placed: Placed, parameters: readonly Parameter[]): HTMLElement {
    const [credential] = credentialsOf(this.api, placed.operation);
    const [bodyType] = Object.keys(placed.operation.requestBody?.content ?? {});
    const sampleBody = this.examples.smallestBody(placed);
    return tryIt({ placed, parameters, credential, sampleBody, bodyType, known: this.known });
  }

  private credentialLine(operation: Operation): HTMLElement {
    const list = credentialsOf(this.api, operation).flatMap(({ label, place, header, before, form }, at) => [
      `${at > 0 ? " or " : ""}${label}: `,
      h("code", {}, place === "header" ? `${header}: ${before}${form}` : `?${header}=${form}`),
    ]);
    return h("p", { class: "muted small" }, list.length > 0 ? list : "No credential needed.");
  }

  // Fields

  private parameterRow(one: Parameter): HTMLElement {
    const field = { ...one.schema, ...(one.description !== undefined && { description: one.description }) };
    return this.row("", one.name, field, one.required === true, [], placeOf(one));
  }

  private contents(holder: Content): HTMLElement[] {
    return Object.entries(holder.content ?? {}).map(([type, { schema }]) =>
      type.endsWith("json") && schema
        ? this.bodyTable(schema)
        : h("p", { class: "muted small" }, "As ", h("code", {}, type), "."),
    );
  }

  private bodyTable(schema: Schema): HTMLElement {
    const list = this.rows(schema);
    return fieldTable(list.length > 0 ? list : [this.row("", "(the whole body)", schema, true, [])]);
  }

  /** One row per field; nested fields follow their parent, prefixed with its name. */
  private rows(start: Schema, parent = "", before: readonly string[] = []): HTMLElement[] {
    return this.schemas.alternatives(start, before).flatMap(({ schema, trail }) => {
      if (schema.type === "array" && schema.items) return this.rows(schema.items, `${parent}[]`, trail);
      const prefix = parent && `${parent}.`;
      const own = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
        this.row(prefix, name, field, schema.required?.includes(name) ?? false, trail),
        ...this.rows(field, prefix + name, trail),
      ]);
      const rest = schema.additionalProperties;
      if (typeof rest !== "object" || Object.keys(rest).length === 0) return own;
      return [
        ...own,
        this.row(prefix, "<any name>", rest, false, trail),
        ...this.rows(rest, `${prefix}<any name>`, trail),
      ];
    });
  }

  private row(
    prefix: string,
    name: string,
    field: Schema,
    isRequired: boolean,
    trail: readonly string[],
    where = isRequired ? "required" : "optional",
  ): HTMLElement {
    const { schemas } = this;
    const found = [schemas.resolve(field, trail), ...schemas.alternatives(field, trail)];
    const description = found.find(({ schema }) => schema.description)?.schema.description;
    const rules = schemas.constraints(field, trail);
    return h(
      "tr",
      {},
      h(
        "th",
        { scope: "row" },
        h("code", {}, h("span", { class: "parent" }, prefix), name),
        h("span", { class: isRequired ? "under must" : "under" }, where),
      ),
      h(
        "td",
        {},
        h("code", {}, schemas.typeText(field, trail)),
        rules.map((rule) => h("span", { class: "under" }, rule)),
      ),
      h("td", {}, prose(description)),
    );
  }

  private problems(problems: readonly (readonly [string, Content])[]): Child[] {
    const [first] = problems;
    if (!first) return [];
    const body = this.contents(first[1]);
    return [
      h("h4", {}, "Problems"),
      h("table", { class: "problems" }, h("tbody", {}, problems.map(problemRow))),
      body.length > 0
        ? h("details", { class: "body response" }, h("summary", {}, "The body of a problem"), body)
        : undefined,
    ];
  }
}

function fieldTable(list: readonly HTMLElement[]): HTMLElement {
  const heads = ["Field", "Type", "Meaning"].map((text) => h("th", { scope: "col" }, text));
  return h("table", { class: "fields" }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, list));
}

/** A status with several codes has one description, "`code`: text `code`: text": shows each code on a line of its own. */
const problemRow = ([status, { description = "" }]: readonly [string, Content]): HTMLElement =>
  h(
    "tr",
    {},
    h("th", { scope: "row" }, h("code", {}, status)),
    h(
      "td",
      {},
      description.split(/ (?=`\w+`: )/).map((line) => h("p", {}, prose(line))),
    ),
  );
