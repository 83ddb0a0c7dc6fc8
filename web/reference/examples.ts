/** An example of each operation, as a curl command. */
import type { ApiDocument, Operation, Parameter, Placed } from "./document.ts";
import { h } from "./dom.ts";
import type { Schema, Schemas } from "./schema.ts";

const COPIED_MS = 2000;

/** Sample values by field name; other fields show a placeholder. */
const SAMPLES: Readonly<Record<string, string>> = {
  app: "demo",
  name: "example",
  peerId: "alice",
  label: "my label",
  permissions: "subscribe",
  allowedOrigins: location.origin,
  channel: "chat/lobby",
  channels: "chat/lobby",
  channelPatterns: "chat/*",
};

/** Placeholders in an example are shell variables: keyId is $KEY_ID. */
const shellName = (name: string): string => `$${name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toUpperCase()}`;

const CREDENTIALS: Readonly<Record<string, { readonly label: string; readonly variable: string }>> = {
  secretKey: { label: "Secret key", variable: "$SECRET_KEY" },
  admin: { label: "Admin token", variable: "$ADMIN_TOKEN" },
  applicationBearer: { label: "The application's secret key", variable: "$APP_SECRET" },
  applicationKey: { label: "in the query", variable: "$APP_SECRET" },
};

export interface Credential {
  readonly label: string;
  readonly variable: string;
  readonly place: string;
  readonly header: string;
  readonly before: string;
  readonly form: string;
}

const angled = (text: string): string => (text.startsWith("<") ? text : `<${text}>`);

/** The credentials that an operation accepts; any one suffices. */
export const credentialsOf = (api: ApiDocument, operation: Operation): Credential[] =>
  (operation.security ?? api.security ?? [])
    .flatMap((choice) => Object.keys(choice))
    .map((name) => {
      const scheme = api.components?.securitySchemes?.[name] ?? {};
      const { label, variable } = CREDENTIALS[name] ?? { label: name, variable: shellName(name) };
      const isApiKey = scheme.type === "apiKey";
      return {
        label,
        variable,
        place: isApiKey ? (scheme.in ?? "header") : "header",
        header: isApiKey ? (scheme.name ?? name) : "Authorization",
        before: scheme.scheme === "bearer" ? "Bearer " : "",
        form: angled(scheme.bearerFormat ?? name),
      };
    });

export class Examples {
  constructor(
    private readonly api: ApiDocument,
    private readonly schemas: Schemas,
    /** Values of parameters, in place of shell variables. */
    private readonly known: Readonly<Record<string, string>>,
  ) {}

  curl({ method, path, operation }: Placed, parameters: readonly Parameter[]): string {
    const [credential] = credentialsOf(this.api, operation);
    const query = parameters
      .filter((one) => one.in === "query" && one.required)
      .map((one) => `${one.name}=${encodeURIComponent(String(this.sample(one.schema, one.name)))}`);
    if (credential?.place === "query") query.push(`${credential.header}=${credential.variable}`);
    const filled = path.replace(/\{(\w+)\}/g, (_all, name: string) => this.known[name] ?? shellName(name));
    const url = `"${originOf(operation)}${filled}${query.length > 0 ? `?${query.join("&")}` : ""}"`;
    const lines = [method === "get" ? `curl ${url}` : `curl -X ${method.toUpperCase()} ${url}`];
    if (credential?.place === "header")
      lines.push(`  -H "${credential.header}: ${credential.before}${credential.variable}"`);
    const [type] = Object.keys(operation.requestBody?.content ?? {});
    if (type) lines.push(`  -H "Content-Type: ${type}"`);
    const body = this.body({ method, operation });
    if (body !== undefined) lines.push(`  -d '${body.replaceAll("\n", "\n  ").replaceAll("'", "'\\''")}'`);
    else if (type) lines.push("  --data-binary @FILE");
    return lines.join(" \\\n");
  }

  /** A sample of a body that is JSON. */
  body({ method, operation }: Pick<Placed, "method" | "operation">): string | undefined {
    const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
    return type?.endsWith("json") ? pretty(this.sampleBody(content?.schema, method)) : undefined;
  }

  /** The least that an operation accepts. */
  smallestBody({ operation }: Placed): string | undefined {
    const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
    const [first] = this.schemas.alternatives(content?.schema);
    if (!type?.endsWith("json") || !first) return undefined;
    return pretty(this.sampleObject(first.schema, first.trail, first.schema.required ?? []));
  }

  private sample(start: Schema | undefined, name: string, before: readonly string[] = []): unknown {
    const choices = this.schemas.alternatives(start, before);
    const chosen = choices.find((one) => one.schema.type !== "null") ?? choices[0];
    if (!chosen) return null;
    const { schema, trail } = chosen;
    const given = schema.examples?.[0] ?? schema.const ?? schema.default ?? schema.enum?.[0];
    if (given !== undefined) return given;
    switch ([schema.type].flat()[0]) {
      case "array":
        return [this.sample(schema.items, name, trail)];
      case "boolean":
        return false;
      case "integer":
      case "number":
        return Math.max(schema.minimum ?? 0, Math.min(schema.maximum ?? 3600, 3600));
      case "string":
        return SAMPLES[name] ?? `<${name}>`;
      default:
        return schema.properties ? this.sampleObject(schema, trail, Object.keys(schema.properties)) : { key: "value" };
    }
  }

  private sampleObject(schema: Schema, trail: readonly string[], names: readonly string[]): object {
    return Object.fromEntries(names.map((name) => [name, this.sample(schema.properties?.[name], name, trail)]));
  }

  /** The example of a PATCH changes one field; other methods show all fields. */
  private sampleBody(start: Schema | undefined, method: string): unknown {
    const [first] = this.schemas.alternatives(start);
    if (method !== "patch" || !first?.schema.properties) return this.sample(start, "body");
    const { schema, trail } = first;
    return this.sampleObject(schema, trail, schema.required ?? Object.keys(schema.properties ?? {}).slice(0, 1));
  }
}

/** Indents JSON for the example, with arrays and objects of one entry on one line. */
const pretty = (value: unknown): string =>
  JSON.stringify(value, null, 2).replace(/([[{])\n *([^\n]*)\n *([\]}])/g, "$1 $2 $3");

/** The origin for an example: applications have hosts of their own, of which this may be one. */
function originOf({ servers }: Operation): string {
  const { url = "" } = servers?.[0] ?? {};
  const [, hosts] = url.split("{app}");
  return hosts === undefined || location.host.endsWith(hosts) ? location.origin : url.replace("{app}", "$APP");
}

export function copyable(text: string): HTMLElement {
  const block = h("pre", { tabindex: "0", "aria-label": "Example" }, h("code", {}, text));
  const button = h("button", { type: "button", class: "small", "aria-live": "polite" }, "Copy");
  button.addEventListener("click", async () => {
    // Browsers allow the clipboard only on https and localhost; elsewhere the text is selected, ready to copy.
    const isCopied = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    if (!isCopied) getSelection()?.selectAllChildren(block);
    button.textContent = isCopied ? "Copied" : "Selected";
    setTimeout(() => {
      button.textContent = "Copy";
    }, COPIED_MS);
  });
  return h("div", { class: "curl" }, block, button);
}
