/** What a channel has kept, and how to delete it. */
import { channelPage } from "../../address/links.ts";
import { parameters, setParameters } from "../../address/router.ts";
import { query, remove } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import { type Retention, retentionText } from "../../drafts/rule-draft.ts";
import { inText } from "../../text/in-text.ts";
import { confirm, nameToType } from "../../ui/dialog.tsx";
import { toast } from "../../ui/notice.tsx";
import { StoredMessages } from "./stored-messages.tsx";

const NONE = {
  title: "This channel has kept no message yet.",
  text: "Messages are kept from the moment on at which a rule says so.",
};

interface ChannelHistoryProps {
  readonly app: string;
  readonly channel: string;
  /** The channel's path in calls of the control plane. */
  readonly path: string;
  readonly keeps: Retention;
  /** Connections that subscribe: they close, and reconnect. */
  readonly connections: number | undefined;
}

export function ChannelHistory({ app, channel, path, keeps, connections }: ChannelHistoryProps) {
  const ask = (reload: () => Promise<void>): void =>
    confirm({
      title: `Delete the history of ${inText(channel)}`,
      text: (
        <p>
          This deletes all messages stored for this channel, and cannot be undone. Its subscribers reconnect. New
          messages are stored as before.
        </p>
      ),
      submit: "Delete the history",
      isDanger: true,
      typed: nameToType(channel, connections),
      run: async () => {
        await remove(`${path}/history`);
        if (parameters.value.has("before")) setParameters({ before: "" }, { isPassing: true });
        else await reload();
        toast(`The history of ${inText(channel)} is deleted.`);
      },
    });
  return (
    <StoredMessages
      app={app}
      title="History"
      path={path}
      addressOf={(before) => `${channelPage(app, channel)}${query({ view: "history", before })}`}
      aside={retentionText(keeps)}
      none={NONE}
      action={(isAny, reload) =>
        mayChange.value &&
        isAny && (
          <button type="button" class="danger push" onClick={() => ask(reload)}>
            Delete history …
          </button>
        )
      }
    />
  );
}
