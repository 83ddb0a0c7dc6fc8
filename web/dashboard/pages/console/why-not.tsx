/** Why a client is refused: every check in order. What is pasted here stays in this page's memory, and goes when the page does. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ACTIONS } from "../../../../src/protocol/actions.ts";
import { keyPage } from "../../address/links.ts";
import { parameters } from "../../address/router.ts";
import { post, query, segment } from "../../api/client.ts";
import type { App, Check, Explanation, Key, List } from "../../api/types.ts";
import { currentApp } from "../../live/apps.ts";
import { useLive } from "../../live/live.ts";
import { meaningOf } from "../../text/event-text.ts";
import { clock, day } from "../../text/format.ts";
import { inText } from "../../text/in-text.ts";
import { Form } from "../../ui/dialog.tsx";
import { Field, Select, Text } from "../../ui/fields.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";

const ACTION_OPTIONS = [["", "none in particular"], ...ACTIONS.map((action) => [action, action] as const)] as const;
type ActionOption = (typeof ACTION_OPTIONS)[number][0];

/** A key's id has a known beginning; everything else that one pastes is a token. */
const credentialOf = (text: string): object => (/^(pk|sk)_/.test(text) ? { key: text } : { token: text });

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
  // The address has all that a connect of a page has: its explanation says more than the refusal.
  const isWhole = publicId(initial.get("key")) !== "" && (initial.get("origin") ?? "") !== "";
  useEffect(() => {
    // If that fails, the button is there to ask again.
    if (isWhole) ask().catch(() => undefined);
  }, []);
  return (
    <Page
      title="Why not?"
      intro="Find out why a client is refused: paste what it connects with, and see every check that the service makes. Nothing is stored, and no connection is opened."
    >
      <div class="columns why-not">
        <Card>
          <Form submit="Explain" onSubmit={ask}>
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
        <div aria-live="polite" class="stack">
          {!isWhole && <Refusal known={initial} />}
          {answer.value ? (
            <>
              <Answer of={answer.value} />
              {app && !answer.value.allowed && <KeyFacts app={app} keyId={publicId(credential.value.trim())} />}
            </>
          ) : (
            <UsualMistakes />
          )}
        </div>
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

/** What the key of the answer allows, and where that is changed. */
function KeyFacts({ app, keyId }: { readonly app: App; readonly keyId: string }) {
  const { data } = useLive<Key>(keyId === "" ? undefined : `/signalling/keys/${segment(keyId)}`);
  if (!data || data.app !== app._id) return null;
  const { label, allowedOrigins = [] } = data;
  return (
    <Card title={`Key ${inText(label ?? keyId)}`}>
      <p>
        Allowed origins: {allowedOrigins.length === 0 ? "none" : <code>{allowedOrigins.join(" ")}</code>}. Add one only
        if the page is yours.
      </p>
      <p>
        <a href={keyPage(app.name, keyId)}>Open the key</a> to change it.
      </p>
    </Card>
  );
}

/** The refusal that led here. Its token is unknown: events do not have it, nor may an address. */
function Refusal({ known }: { readonly known: URLSearchParams }) {
  const code = known.get("code") ?? "";
  const meaning = meaningOf(code);
  if (meaning === undefined) return null;
  const at = Number(known.get("at"));
  const peer = known.get("peer");
  const advice = MISTAKES.find(([one]) => one === code)?.[1];
  return (
    <Notice kind="warn">
      <strong>
        Refused with <code>{code}</code>: {meaning}
      </strong>
      <p>
        {at > 0 && `${day(at / 1000)}, ${clock(at)}. `}
        {peer && (
          <>
            Peer <code>{peer}</code>.{" "}
          </>
        )}
        {advice}
      </p>
      {publicId(known.get("key")) === "" && <p>For every check, paste the token of the client and click Explain.</p>}
    </Notice>
  );
}

/** Only the id of a publishable key may come from the address: everything else is a secret, and addresses are kept by browsers. */
const publicId = (key: string | null): string => (key !== null && /^pk_\w+$/.test(key) ? key : "");

const LOOKS: Readonly<Record<Check["result"], readonly [icon: string, style: string]>> = {
  passes: ["✓", "good"],
  refuses: ["✗", "bad"],
  "not reached": ["–", "muted"],
};

function Answer({ of: { checks, allowed } }: { readonly of: Explanation }) {
  const refusing = checks.find(({ result }) => result === "refuses");
  return (
    <>
      <Notice kind={allowed ? "good" : "bad"}>
        <strong>{allowed ? "Allowed: every check passes." : `Refused by the check “${refusing?.name}”.`}</strong>
        {refusing?.hint && <p>{refusing.hint}</p>}
      </Notice>
      <Card title="Checks in order">
        <ol class="checks">
          {checks.map((check) => {
            const [icon, style] = LOOKS[check.result];
            return (
              <li key={check.name} class={check.result === "refuses" ? "refuses" : ""}>
                <span class={style} aria-hidden="true">
                  {icon}
                </span>
                <div>
                  <strong>{check.name}</strong> <span class={`small ${style}`}>{check.result}</span>
                  {check.why && <p class="small muted">{check.why}</p>}
                </div>
              </li>
            );
          })}
        </ol>
      </Card>
    </>
  );
}

const MISTAKES = [
  ["origin_not_allowed", "The key does not allow the page's origin: http instead of https, a port, www."],
  [
    "token_expired",
    "By default, tokens are valid for an hour. A client that reconnects needs a new one each time. If it was new, check the clock of your backend.",
  ],
  ["invalid_token", "It was signed with another key's secret, or asks for channels that its key does not cover."],
  ["channel_not_authorized", "chat/* covers chat/42, but not chat/eu/42: ** does."],
  ["unauthorized", "A secret key's id in place of a publishable one, or a key that was revoked."],
] as const;

const UsualMistakes = () => (
  <Card title="Common mistakes">
    <dl class="mistakes">
      {MISTAKES.map(([code, text]) => (
        <div key={code}>
          <dt>
            <code>{code}</code>
          </dt>
          <dd class="muted">{text}</dd>
        </div>
      ))}
    </dl>
  </Card>
);
