/** One stream: how full it is, until when it stays, who writes and reads it, its messages, and code that uses it. */
import { channelPage, rulesPage, streamPage, streamsPage } from "../../address/links.ts";
import { navigate, type PageParameters, parameters, setParameters } from "../../address/router.ts";
import { query, remove, segment } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { StreamDetail } from "../../api/stream-types.ts";
import { span } from "../../drafts/rule-draft.ts";
import { useLive } from "../../live/live.ts";
import { useOrigin } from "../../live/origin.ts";
import { bytes, exactTime, whole } from "../../text/format.ts";
import { inText } from "../../text/in-text.ts";
import { TERMS } from "../../text/terms.ts";
import { Bar } from "../../ui/bar.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Segmented } from "../../ui/fields.tsx";
import { toast } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { Term } from "../../ui/term.tsx";
import { Copy, Snippet, Time } from "../../ui/values.tsx";
import { StoredMessages } from "../channels/stored-messages.tsx";
import { Missing } from "../not-found.tsx";
import { Producers } from "./producers.tsx";
import { LANGUAGES, snippet } from "./snippets.ts";
import { StreamState } from "./state.tsx";

const EVERY_MS = 3000;
/** From here on the bar warns. */
const NEARLY_FULL = 0.9;
const NONE = { title: "Nothing was written to this stream yet.", text: "It appears here as soon as it is written." };

export function Stream({ at: { app = "", stream: channel = "" } }: { readonly at: PageParameters }) {
  const path = `/apps/${segment(app)}/streams/${segment(channel)}`;
  const { data, error } = useLive<StreamDetail>(path, { everyMs: EVERY_MS });
  return (
    <Page
      title={channel}
      isReady={data !== undefined}
      error={error}
      isComplete={data?.isComplete ?? true}
      missing={
        <Missing title={`There is no stream named “${inText(channel)}”.`} to={streamsPage(app)} all="All streams">
          It was not created, was deleted or has expired. Names are case-sensitive.
        </Missing>
      }
      intro={
        <>
          <a href={streamsPage(app)}>All streams</a>
          {data && (
            <>
              {" · "}
              <a href={channelPage(app, channel)}>Members and live messages</a>
            </>
          )}
        </>
      }
      actions={
        data && (
          <>
            <Copy text={channel} what="the stream's name" label="Copy name" />
            {mayChange.value && (
              <button type="button" class="danger" onClick={() => askToDelete(app, data, path)}>
                Delete …
              </button>
            )}
          </>
        )
      }
    >
      {data && (
        <>
          <div class="grid stats">
            <Stat title="HTTP readers" value={whole(data.readers)} />
            <Stat title="Subscribers" value={whole(data.subscribers)} />
            <Stat title="Messages" value={whole(data.messages)} />
            <Stat title="Size" value={bytes(data.bytes)} />
          </div>
          <div class="halves with-facts">
            <Facts app={app} of={data} />
            <Code app={app} of={data} />
          </div>
          <Producers app={app} channel={channel} rows={data.producers} />
          <StoredMessages
            app={app}
            title="Messages"
            path={`/apps/${segment(app)}/channels/${segment(channel)}`}
            addressOf={(before) => `${streamPage(app, channel)}${query({ before })}`}
            none={NONE}
            isText={data.contentType.startsWith("text/")}
          />
        </>
      )}
    </Page>
  );
}

const Stat = ({ title, value }: { readonly title: string; readonly value: string }) => (
  <div class="card stat">
    <div class="muted small">{title}</div>
    <div class="value">{value}</div>
  </div>
);

function Facts({ app, of }: { readonly app: string; readonly of: StreamDetail }) {
  const { channel, contentType, created, closed, maxBytes, idleSec, ttlSec = idleSec, expiresAt, endsAt, pos } = of;
  const share = of.bytes / maxBytes;
  const kind = share >= 1 ? "bad" : share >= NEARLY_FULL ? "warn" : undefined;
  return (
    <Card title="Stream">
      <dl class="facts">
        <dt>State</dt>
        <dd>
          <StreamState isClosed={closed} /> {closed ? "takes no more messages" : "takes messages"}
        </dd>
        <dt>Content type</dt>
        <dd>
          <code>{contentType}</code>
        </dd>
        <dt>Created</dt>
        <dd>
          <Time at={created} />
        </dd>
        <dt>Size</dt>
        <dd>
          {bytes(of.bytes)} of {bytes(maxBytes)} (<a href={rulesPage(app, channel)}>channel rule</a>)
          <Bar share={share} {...(kind && { kind })} />
        </dd>
        <dt>
          Expires
          <Term name="Expires" meaning={TERMS.streamExpires} isBare />
        </dt>
        <dd>
          <Time at={endsAt} />, {span(Math.min(ttlSec, idleSec))} after its last use
          {expiresAt !== undefined && `; at the latest ${exactTime(expiresAt)}`}
        </dd>
        <dt>Position</dt>
        <dd class="row">
          <code>{pos}</code> <Copy text={pos} what="position of its end" />
        </dd>
      </dl>
    </Card>
  );
}

function Code({ app, of: { channel, contentType, closed } }: { readonly app: string; readonly of: StreamDetail }) {
  const origin = useOrigin();
  const wanted = parameters.value.get("language");
  const [language, name] = LANGUAGES.find(([one]) => one === wanted) ?? LANGUAGES[0];
  return (
    <Card
      title="Use it"
      aside={
        <Segmented
          label="Language"
          value={language}
          options={LANGUAGES}
          onChange={(value) => setParameters({ language: value === LANGUAGES[0][0] ? "" : value })}
        />
      }
    >
      <Snippet
        text={snippet({ app, channel, contentType, isClosed: closed, origin }, language)}
        what={`code for ${name}`}
      />
    </Card>
  );
}

function askToDelete(app: string, { channel, readers, subscribers, isComplete }: StreamDetail, path: string): void {
  const audience = readers + subscribers;
  // A node that has not responded may have readers.
  const isRead = audience > 0 || !isComplete;
  confirm({
    title: `Delete the stream ${inText(channel)}`,
    text: (
      <p>
        {audience > 0 && `${audience === 1 ? "1 client reads" : `${whole(audience)} clients read`} it now. `}
        All of its messages are deleted, its readers end and its subscribers reconnect. This cannot be undone.
      </p>
    ),
    submit: "Delete the stream",
    isDanger: true,
    typed: isRead ? channel : undefined,
    run: async () => {
      await remove(path);
      toast(`${inText(channel)} is deleted.`);
      navigate(`/apps/${segment(app)}/streams`);
    },
  });
}
