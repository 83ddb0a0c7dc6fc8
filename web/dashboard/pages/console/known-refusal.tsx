/** A refusal as the dashboard knows it, without what the client sent, and what refusals usually come from. */
import { newKeyPage, peerPage } from "../../address/links.ts";
import { segment } from "../../api/client.ts";
import { nowSeconds } from "../../api/now.ts";
import type { App, PeerDetail } from "../../api/types.ts";
import { useLive } from "../../live/live.ts";
import { isBlocked, refusalOf } from "../../text/event-text.ts";
import { clock, day, duration } from "../../text/format.ts";
import { Notice } from "../../ui/notice.tsx";

interface RefusalProps {
  readonly app: App | undefined;
  readonly known: URLSearchParams;
}

/** The refusal that led here. Its token is unknown: events do not have it, nor may an address. */
export function Refusal({ app, known }: RefusalProps) {
  const code = known.get("code") ?? "";
  const peer = known.get("peer") ?? undefined;
  const meaning = refusalOf(code, peer);
  if (meaning === undefined) return null;
  const at = Number(known.get("at"));
  const isOfBlock = isBlocked(code, peer);
  return (
    <Notice kind="warn">
      <strong>
        Refused with <code>{code}</code>: {meaning}
      </strong>
      <p>
        {at > 0 && `${day(at / 1000)}, ${clock(at)}. `}
        {peer !== undefined && (
          <>
            Peer <code>{peer}</code>.{" "}
          </>
        )}
        {code === "key_revoked" && <RevokedAdvice app={app} />}
        {isOfBlock ? <BlockAdvice app={app} peer={peer ?? ""} /> : MISTAKES.find(([one]) => one === code)?.[1]}
      </p>
      {!isOfBlock && code !== "key_revoked" && publicId(known.get("key")) === "" && (
        <p>For every check, paste the token of the client and click Explain.</p>
      )}
    </Notice>
  );
}

const RevokedAdvice = ({ app }: { readonly app: App | undefined }) => (
  <>
    The client gets <code>unauthorized</code>, or <code>invalid_token</code> for a token. A revoked key cannot be
    restored
    {app ? (
      <>
        : <a href={newKeyPage(app.name)}>create another key</a> and give that to the client.
      </>
    ) : (
      "."
    )}
  </>
);

function BlockAdvice({ app, peer }: { readonly app: App | undefined; readonly peer: string }) {
  const { data } = useLive<PeerDetail>(app && `/apps/${segment(app.name)}/peers/${segment(peer)}`);
  if (!app || !data) return null;
  const left = (data.block?.until ?? 0) - nowSeconds.value;
  return (
    <>
      {left > 0 ? `The block ends in ${duration(left)}.` : "It is not blocked any more."}{" "}
      <a href={peerPage(app.name, peer)}>Open the peer</a>
      {left > 0 && " to unblock it"}.
    </>
  );
}

/** Only the id of a publishable key may come from the address: everything else is a secret, and addresses are kept by browsers. */
export const publicId = (key: string | null): string => (key !== null && /^pk_\w+$/.test(key) ? key : "");

export const ChannelAdvice = () => (
  <>
    <code>chat/*</code> covers <code>chat/42</code>, but not <code>chat/eu/42</code>: <code>chat/**</code> covers both.
  </>
);

const MISTAKES = [
  ["origin_not_allowed", "The key does not allow the page's origin: http instead of https, a port, www."],
  [
    "token_expired",
    "By default, tokens are valid for an hour. A client that reconnects needs a new one each time. If it was new, check the clock of your backend.",
  ],
  [
    "invalid_token",
    "It was signed with another key's secret, or with a key that was revoked, or it asks for channels that its key does not cover.",
  ],
  ["channel_not_authorized", <ChannelAdvice key="channel" />],
  [
    "unauthorized",
    "The key is mistyped or incomplete, or belongs to another Parley server. Or the client sends no key at all, a secret key's id, or a key that was revoked.",
  ],
] as const;

/** Closed beside a refusal that is known: that one says what it comes from. */
export const UsualMistakes = ({ isOpen }: { readonly isOpen: boolean }) => (
  <details class="card mistakes-card" open={isOpen}>
    <summary>
      <h2>Common mistakes</h2>
    </summary>
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
  </details>
);
