/** Why a client is refused: every check in order. What is pasted here stays in this page's memory, and goes when the page does. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ACTIONS } from "../../../../src/protocol/actions.ts";
import { keyPage, newKeyPage } from "../../address/links.ts";
import { parameters } from "../../address/router.ts";
import { post, query } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { App, Check, Explanation, Key, List } from "../../api/types.ts";
import { currentApp } from "../../live/apps.ts";
import { useLive } from "../../live/live.ts";
import { inText } from "../../text/in-text.ts";
import { Form } from "../../ui/dialog.tsx";
import { Field, Select, Text } from "../../ui/fields.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { ChannelAdvice, publicId, Refusal, UsualMistakes } from "./known-refusal.tsx";

const ACTION_OPTIONS = [["", "none in particular"], ...ACTIONS.map((action) => [action, action] as const)] as const;
type ActionOption = (typeof ACTION_OPTIONS)[number][0];

/** A key's id has a known beginning; everything else that one pastes is a token. */
const credentialOf = (text: string): object => (/^(pk|sk)_/.test(text) ? { key: text } : { token: text });

/** A refusal that its key and this field of the address explain. */
const WHOLE = [
  ["origin_not_allowed", "origin"],
  ["channel_not_authorized", "channel"],
  ["key_revoked", "key"],
] as const;
const is = (known: URLSearchParams, code: string, name: string): boolean =>
  known.get("code") === code && (known.get(name) ?? "") !== "";

export function WhyNot() {
  const app = currentApp.value;
  const initial = parameters.value;
  const credential = useSignal(publicId(initial.get("key")));
  const origin = useSignal(initial.get("origin") ?? "");
  const channel = useSignal(initial.get("channel") ?? "");
  const action = useSignal<ActionOption>(ACTIONS.find((one) => one === initial.get("action")) ?? "");
  const answer = useSignal<Explanation | undefined>(undefined);
  const change = (set: () => void): void => {
    set();
    answer.value = undefined;
  };
  const ask = async (): Promise<void> => {
    const given = { origin: origin.value.trim(), channel: channel.value, action: action.value };
    answer.value = await post<Explanation>("/explain", {
      ...(credential.value.trim() !== "" && credentialOf(credential.value.trim())),
      ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== "")),
    });
  };
  const isAsked = useSignal(false);
  // The address has all that the check needs: its explanation says more than the refusal.
  const isWhole = publicId(initial.get("key")) !== "" && WHOLE.some(([code, name]) => is(initial, code, name));
  useEffect(() => {
    // If that fails, the button is there to ask again.
    if (isWhole) ask().catch(() => undefined);
  }, []);
  const askAgain = (): Promise<void> => {
    isAsked.value = true;
    return ask();
  };
  return (
    <Page
      title="Why not?"
      isForm
      intro="Find out why a client is refused: paste what it connects with, and see every check that the service makes. Nothing is stored, and no connection is opened."
    >
      <div class={`columns why-not ${initial.has("code") && !isAsked.value ? "answer-first" : ""}`}>
        <Card>
          <Form submit="Explain" onSubmit={askAgain}>
            <Credential value={credential.value} onInput={(value) => change(() => (credential.value = value))} />
            {app && <KeyChoice app={app} onChoose={(keyId) => change(() => (credential.value = keyId))} />}
            <Text
              label="Origin of the web page"
              value={origin.value}
              onInput={(value) => change(() => (origin.value = value))}
              placeholder="https://shop.example.com"
              help="Leave empty for clients that are not browsers."
            />
            <div class="halves">
              <Text
                label="Channel"
                value={channel.value}
                onInput={(value) => change(() => (channel.value = value))}
                placeholder="chat/42"
              />
              <Select
                label="Action"
                value={action.value}
                options={ACTION_OPTIONS}
                onChange={(value) => change(() => (action.value = value))}
              />
            </div>
          </Form>
        </Card>
        <div aria-live="polite" class="stack answer">
          {/* About what led here, not about what is pasted now: one result at a time. */}
          {!isAsked.value && answer.value?.allowed !== false && <Refusal app={app} known={initial} />}
          {answer.value && <Answer of={answer.value} app={app} keyId={publicId(credential.value.trim())} />}
        </div>
        {!answer.value && <UsualMistakes isOpen={!initial.has("code")} />}
      </div>
    </Page>
  );
}

interface CredentialProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
}

/** Hidden like a password, but not one: a browser must not offer to keep it. The id of a publishable key is no secret. */
function Credential({ value, onInput }: CredentialProps) {
  const isShown = useSignal(false);
  const isMasked = value !== "" && !isShown.value && publicId(value) === "";
  return (
    <Field
      label="Publishable key or connect token"
      help={
        <button type="button" class="link-button" onClick={() => (isShown.value = !isShown.value)}>
          {isShown.value ? "Hide tokens" : "Show tokens"}
        </button>
      }
    >
      {(attributes) => (
        <input
          {...attributes}
          class={isMasked ? "masked" : ""}
          value={value}
          placeholder="pk_live_… or eyJ…"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface KeyChoiceProps {
  readonly app: App;
  readonly onChoose: (keyId: string) => void;
}

/** The live publishable keys of the application, so that none has to be copied. */
function KeyChoice({ app, onChoose }: KeyChoiceProps) {
  const { data } = useLive<List<Key>>(`/signalling/keys${query({ app: app._id, revoked: "false" })}`);
  const keys = data?.data.filter(({ type, revoked }) => type === "publishable" && revoked === null) ?? [];
  return (
    <Select
      label={`Or a publishable key of ${app.name}`}
      value=""
      options={[["", "Choose …"], ...keys.map(({ keyId, label }) => [keyId, label ?? keyId] as const)]}
      onChange={onChoose}
    />
  );
}

/** What the key of a refused client allows: for the two checks that compare with it. */
function KeyFacts({ app, of: key, check }: { readonly app: App; readonly of: Key; readonly check: string }) {
  const { keyId, label, allowedOrigins = [], channelPatterns } = key;
  return (
    <Card title={`Key ${inText(label ?? keyId)}`}>
      {check === "channel" ? (
        <p>
          Channels: <code>{channelPatterns.join(" ")}</code>. <ChannelAdvice />
        </p>
      ) : (
        <p>Allowed origins: {allowedOrigins?.length === 0 ? "none" : <code>{allowedOrigins?.join(" ")}</code>}.</p>
      )}
      <p>
        <a href={keyPage(app.name, keyId)}>Open the key</a> to see everything that it allows.
      </p>
    </Card>
  );
}

/** Leads to where the advice is followed. */
function Remedy({ app, of: { keyId }, check }: { readonly app: App; readonly of: Key; readonly check: string }) {
  if (!mayChange.value) return null;
  if (check === "key") return <a href={newKeyPage(app.name)}>Create another key</a>;
  if (check === "origin") return <a href={keyPage(app.name, keyId, "edit")}>Edit allowed origins</a>;
  return check === "channel" ? <a href={keyPage(app.name, keyId, "edit")}>Edit channel patterns</a> : null;
}

const LOOKS: Readonly<Record<Check["result"], readonly [icon: string, style: string]>> = {
  passes: ["✓", "good"],
  refuses: ["✗", "bad"],
  "not reached": ["–", "muted"],
};

const refusingOf = ({ checks }: Explanation): Check | undefined => checks.find(({ result }) => result === "refuses");

interface AnswerProps {
  readonly of: Explanation;
  readonly app: App | undefined;
  /** "" for a token. */
  readonly keyId: string;
}

function Answer({ of: explanation, app, keyId }: AnswerProps) {
  const { checks, allowed } = explanation;
  const refusing = refusingOf(explanation);
  // In the list: a key that does not exist would be an error of its own.
  const { data } = useLive<List<Key>>(
    app === undefined || keyId === "" ? undefined : `/signalling/keys${query({ app: app._id })}`,
  );
  const key = data?.data.find((one) => one.keyId === keyId);
  // People know the key by its label.
  const named = (text: string): string => (key?.label ? text.replaceAll(keyId, `“${inText(key.label)}”`) : text);
  const check = refusing?.name ?? "";
  return (
    <>
      <Notice kind={allowed ? "good" : "bad"}>
        <strong>{allowed ? "Allowed: every check passes." : `Refused by the check “${check}”.`}</strong>
        {refusing?.hint && (
          <p>
            {named(refusing.hint)} {app && key && <Remedy app={app} of={key} check={check} />}
          </p>
        )}
      </Notice>
      <Card title="Checks in order">
        <ol class="checks">
          {checks.map(({ name, result, why }) => {
            const [icon, style] = LOOKS[result];
            return (
              <li key={name} class={result === "refuses" ? "refuses" : ""}>
                <span class={style} aria-hidden="true">
                  {icon}
                </span>
                <div>
                  <strong>{name}</strong> <span class={`small ${style}`}>{result}</span>
                  {why && <p class="small muted">{named(why)}</p>}
                </div>
              </li>
            );
          })}
        </ol>
      </Card>
      {app && key && (check === "origin" || check === "channel") && <KeyFacts app={app} of={key} check={check} />}
    </>
  );
}
