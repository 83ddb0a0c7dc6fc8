/** How much history an application has stored and how much its streams hold, and how much they may. */
import { patch } from "../../api/client.ts";
import type { App } from "../../api/types.ts";
import type { StoredHistory, StoredStreams } from "../../api/usage-types.ts";
import { counted, MIB } from "../../drafts/rule-draft.ts";
import { bytes } from "../../text/format.ts";
import { ByteLimit } from "../../ui/byte-limit.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { toast } from "../../ui/notice.tsx";

interface HistoryLimitProps {
  readonly app: App;
  /** undefined: it cannot be read at the moment. */
  readonly stored: StoredHistory | undefined;
  readonly reload: () => Promise<void>;
}

export function HistoryLimit({ app, stored, reload }: HistoryLimitProps) {
  const ask = async (most: number): Promise<void> => {
    const save = async (): Promise<void> => {
      await patch(`/apps/${app._id}`, { maxHistoryBytes: most });
      await reload();
      toast(`The history limit is now ${bytes(most)}.`);
    };
    if (!stored || most >= stored.bytes) return save();
    confirm({
      title: `Keep at most ${bytes(most)} of history`,
      text: <p>{bytes(stored.bytes - most)} of the oldest messages are deleted. This cannot be undone.</p>,
      submit: "Change the limit",
      isDanger: true,
      run: save,
    });
  };
  return (
    <ByteLimit
      title="Stored history"
      used={stored?.bytes}
      limit={app.maxHistoryBytes}
      unit={MIB}
      least={MIB}
      label="History limit (MiB)"
      what={`${counted(stored?.messages ?? 0, "messages")} of ${counted(stored?.streams ?? 0, "channels")}.`}
      atLimit="At the limit, the oldest messages of the largest channel are deleted."
      onSubmit={ask}
    />
  );
}

interface StreamLimitProps {
  readonly app: App;
  /** undefined: it cannot be read at the moment. */
  readonly stored: StoredStreams | undefined;
  readonly reload: () => Promise<void>;
}

export function StreamLimit({ app, stored, reload }: StreamLimitProps) {
  const save = async (most: number): Promise<void> => {
    await patch(`/apps/${app._id}`, { maxStreamBytes: most });
    await reload();
    toast(`The limit of all streams is now ${bytes(most)}.`);
  };
  return (
    <ByteLimit
      title="Streams"
      used={stored?.bytes}
      limit={app.maxStreamBytes}
      unit={MIB}
      least={MIB}
      label="Limit of all streams (MiB)"
      what={`${counted(stored?.messages ?? 0, "messages")} in ${counted(stored?.count ?? 0, "streams")}.`}
      atLimit="At the limit, writes are refused; nothing is deleted."
      onSubmit={save}
    />
  );
}
