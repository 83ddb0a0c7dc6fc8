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
        <div aria-live="polite" class="stack">
          {!(isWhole && answer.value?.allowed === false) && <Refusal app={app} known={initial} />}
          {answer.value ? (
            <>
              <Answer of={answer.value} />
              {app && !answer.value.allowed && (
                <KeyFacts app={app} keyId={publicId(credential.value.trim())} answer={answer.value} />
              )}
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

interface KeyFactsProps {
  readonly app: App;
  readonly keyId: string;
  readonly answer: Explanation;
}

/** What the key of the answer allows, and where that is changed. */
function KeyFacts({ app, keyId, answer }: KeyFactsProps) {
  const { data } = useLive<Key>(keyId === "" ? undefined : `/signalling/keys/${segment(keyId)}`);
  if (!data || data.app !== app._id) return null;
  const { label, allowedOrigins = [], channelPatterns } = data;
  return (
    <Card title={`Key ${inText(label ?? keyId)}`}>
      {refusingOf(answer)?.name === "channel" ? (
        <p>
          Channels: <code>{channelPatterns.join(" ")}</code>. <ChannelAdvice />
        </p>
      ) : (
        <p>
          Allowed origins: {allowedOrigins.length === 0 ? "none" : <code>{allowedOrigins.join(" ")}</code>}. Add one
          only if the page is yours.
        </p>
      )}
      <p>
        <a href={keyPage(app.name, keyId)}>Open the key</a> to change it.
      </p>
    </Card>
  );
}

const LOOKS: Readonly<Record<Check["result"], readonly [icon: string, style: string]>> = {
  passes: ["✓", "good"],
  refuses: ["✗", "bad"],
  "not reached": ["–", "muted"],
};

const refusingOf = ({ checks }: Explanation): Check | undefined => checks.find(({ result }) => result === "refuses");

function Answer({ of: explanation }: { readonly of: Explanation }) {
  const { checks, allowed } = explanation;
  const refusing = refusingOf(explanation);
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
