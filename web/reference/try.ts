/** "Try it": a form for one operation. What changes something needs a second click. */
import { type Parameter, type Placed, placeOf } from "./document.ts";
import { h } from "./dom.ts";
import type { Credential } from "./examples.ts";
import { maskedCurl, type Request, send } from "./request.ts";

const CONFIRM_WITHIN_MS = 5000;

/** Although they are POST: they make a token that nothing stores, or only explain. */
const CHANGE_NOTHING: readonly string[] = [
  "postV1Tokens",
  "postApiV1Token",
  "postApiV1TokenValidate",
  "postApiInternalV1Explain",
];

/** Pasted by the reader, by what they open. Only here, in memory: nothing writes them anywhere. Bound: the credentials of the API. */
const secrets = new Map<string, string>();

export interface Trial {
  readonly placed: Placed;
  readonly parameters: readonly Parameter[];
  readonly credential: Credential | undefined;
  /** What the form begins with, if the body is JSON. */
  readonly sampleBody: string | undefined;
  readonly bodyType: string | undefined;
  /** Where the service runs its demo: what its parameters are. */
  readonly known: Readonly<Record<string, string>>;
}

interface Field {
  readonly parameter: Parameter;
  readonly input: HTMLInputElement;
}

/** Made when it is opened: there are more than a hundred of them on the page. */
export function tryIt(trial: Trial): HTMLElement {
  const box = h("details", { class: "try" }, h("summary", {}, "Try it")) as HTMLDetailsElement;
  box.addEventListener("toggle", () => box.childElementCount === 1 && box.append(new TryForm(trial).form));
  return box;
}

class TryForm {
  readonly form: HTMLElement;
  private readonly fields: readonly Field[];
  private readonly secret: HTMLInputElement | undefined;
  private readonly body: HTMLTextAreaElement | undefined;
  private readonly preview = h("code", {});
  private readonly submit: HTMLButtonElement;
  private readonly outcome = h("p", { class: "outcome", role: "status" });
  private readonly response = h("pre", { tabindex: "0", "aria-label": "Response", hidden: "" });
  private running: AbortController | undefined;
  private isConfirming = false;
  private confirming: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly trial: Trial) {
    const { parameters, credential, sampleBody, bodyType, known } = trial;
    this.fields = parameters.map((parameter) => ({
      parameter,
      input: textField(parameter.name, known[parameter.name] ?? ""),
    }));
    if (credential) this.secret = this.secretField(credential);
    if (bodyType) {
      this.body = h("textarea", { rows: "6", spellcheck: "false" }) as HTMLTextAreaElement;
      this.body.value = sampleBody ?? "";
    }
    this.submit = h("button", { type: "submit", class: "primary" }) as HTMLButtonElement;
    this.form = h(
      "form",
      { novalidate: "" },
      this.secret && [
        labelled(credential?.label ?? "", this.secret),
        h("p", { class: "muted small" }, "Kept in this page's memory only, until you close or reload it."),
      ],
      this.fields.map(({ parameter, input }) => labelled(parameter.name, input, placeOf(parameter))),
      this.body && labelled("Request body", this.body),
      h("p", { class: "label" }, "Request"),
      h("pre", { tabindex: "0", "aria-label": "Request" }, this.preview),
      this.submit,
      this.outcome,
      this.response,
    );
    this.form.addEventListener("input", () => this.changed());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.clicked();
    });
    this.changed();
  }

  private secretField({ label, form }: Credential): HTMLInputElement {
    const input = h("input", {
      type: "password",
      autocomplete: "off",
      spellcheck: "false",
      placeholder: form,
    }) as HTMLInputElement;
    input.value = secrets.get(label) ?? "";
    // Another operation's form may have been given it meanwhile.
    input.addEventListener("focus", () => {
      if (input.value === "") input.value = secrets.get(label) ?? "";
    });
    input.addEventListener("input", () => secrets.set(label, input.value.trim()));
    return input;
  }

  private get isChange(): boolean {
    const { method, operation } = this.trial.placed;
    return method !== "get" && !CHANGE_NOTHING.includes(operation.operationId);
  }

  private changed(): void {
    this.confirm(false);
    this.preview.textContent = maskedCurl(this.request());
  }

  private confirm(isConfirming: boolean): void {
    clearTimeout(this.confirming);
    this.isConfirming = isConfirming;
    const verb = this.trial.placed.method.toUpperCase();
    this.submit.textContent = isConfirming ? "Click again: this can change data" : `Send ${verb}`;
    this.submit.classList.toggle("primary", !isConfirming);
    this.submit.classList.toggle("danger", isConfirming);
    if (isConfirming) this.confirming = setTimeout(() => this.confirm(false), CONFIRM_WITHIN_MS);
  }

  private async clicked(): Promise<void> {
    if (this.running) return this.running.abort();
    const missing = this.fields.find(({ parameter, input }) => parameter.required && !isUsable(parameter, input.value));
    if (missing) {
      missing.input.setAttribute("aria-invalid", "true");
      missing.input.focus();
      return this.say("bad", `Enter ${missing.parameter.name}.`);
    }
    for (const { input } of this.fields) input.removeAttribute("aria-invalid");
    if (this.isChange && !this.isConfirming) return this.confirm(true);
    this.confirm(false);
    await this.send();
  }

  private async send(): Promise<void> {
    const running = new AbortController();
    this.running = running;
    this.submit.textContent = "Stop";
    this.response.hidden = true;
    this.say("", "Waiting for the service …");
    try {
      const { status, isGood, tookMs, type } = await send(this.request(), running.signal, (text) => this.show(text));
      this.say(isGood ? "good" : "bad", [status, `${tookMs.toFixed(0)} ms`, type].filter(Boolean).join(" · "));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.say("bad", running.signal.aborted ? "Stopped." : `No response: ${why}`);
    } finally {
      this.running = undefined;
      this.confirm(false);
      this.outcome.scrollIntoView({ block: "nearest" });
    }
  }

  private request(): Request {
    const { placed, credential, bodyType } = this.trial;
    const given = this.fields.filter(({ input }) => input.value !== "");
    const of = (place: string): Field[] => given.filter(({ parameter }) => parameter.in === place);
    const values = new Map(of("path").map(({ parameter, input }) => [parameter.name, input.value]));
    const path = placed.path.replace(/\{(\w+)\}/g, (all, name: string) => {
      const value = values.get(name);
      return value === undefined ? all : encodeURIComponent(value);
    });
    const query = new URLSearchParams(of("query").map(({ parameter, input }) => [parameter.name, input.value]));
    const headers = Object.fromEntries(of("header").map(({ parameter, input }) => [parameter.name, input.value]));
    return {
      method: placed.method,
      path: query.size > 0 ? `${path}?${query}` : path,
      headers: { ...headers, ...(bodyType && this.body && { "Content-Type": bodyType }) },
      ...(credential && this.secret && { credential: { kind: credential, secret: this.secret.value.trim() } }),
      ...(this.body && { body: this.body.value }),
    };
  }

  private say(kind: string, text: string): void {
    this.outcome.className = `outcome ${kind}`;
    this.outcome.textContent = text;
  }

  private show(text: string): void {
    this.response.hidden = false;
    this.response.textContent = text;
  }
}

/** Browsers resolve these two in a path, even escaped. */
const isUsable = ({ in: place }: Parameter, value: string): boolean =>
  value !== "" && !(place === "path" && (value === "." || value === ".."));

const textField = (name: string, value: string): HTMLInputElement => {
  const input = h("input", {
    name,
    autocomplete: "off",
    spellcheck: "false",
    autocapitalize: "off",
  }) as HTMLInputElement;
  input.value = value;
  return input;
};

const labelled = (text: string, input: HTMLElement, hint = ""): HTMLElement =>
  h("label", {}, h("span", {}, text, " ", h("span", { class: "muted" }, hint)), input);
