/** One room: who is inside now, and all its fields with their meaning. Only those that were changed are saved. */
import { useSignal } from "@preact/signals";
import { recordingsPage } from "../../address/links.ts";
import { BASE, navigate, type PageParameters } from "../../address/router.ts";
import { put, remove, segment } from "../../api/client.ts";
import type { Room as RoomRow } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import { useDraft } from "../../drafts/draft.ts";
import {
  changesOf,
  draftOf,
  nameProblem,
  OTHER_FIELDS,
  type RoomDraft,
  WEBHOOK_FIELDS,
} from "../../drafts/room-draft.ts";
import { CHANGES_EVERY_MS, useLive } from "../../live/live.ts";
import { useMeetingNow } from "../../live/meetings.ts";
import { useAppOrigin } from "../../live/origin.ts";
import { confirm, Form } from "../../ui/dialog.tsx";
import { Text } from "../../ui/fields.tsx";
import { toast } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { Copy, Time } from "../../ui/values.tsx";
import { Missing } from "../not-found.tsx";
import { RoomFields } from "./fields.tsx";
import { JoinAsHost } from "./host-link.tsx";
import { RoomMeeting } from "./room-meeting.tsx";
import { WebhookSecrets } from "./webhook-secrets.tsx";

export function Room({ at }: { readonly at: PageParameters }) {
  const { app = "", room = "" } = at;
  const root = `/apps/${segment(app)}/rooms`;
  const { data, error, reload } = useLive<RoomRow>(`${root}/${segment(room)}`, { everyMs: CHANGES_EVERY_MS });
  const now = useMeetingNow(app, room);
  const origin = useAppOrigin(app);
  return (
    <Page
      title={room}
      isReady={data !== undefined && now.isReady && origin !== undefined}
      error={error ?? now.error}
      missing={
        <Missing title={`No room is named “${room}”.`} to={`${BASE}${root}`} all="All rooms">
          It was renamed or deleted, or its name is misspelt. Upper and lower case are different.
        </Missing>
      }
      intro={<a href={`${BASE}${root}`}>All rooms</a>}
      actions={
        data && (
          <>
            <a class="button" href={recordingsPage(app, { room: data._id })}>
              Its recordings
            </a>
            {mayChange.value && (
              <>
                <button type="button" class="danger" onClick={() => archive(data, root)}>
                  Delete …
                </button>
                <JoinAsHost app={app} room={data.roomName} />
              </>
            )}
          </>
        )
      }
    >
      {data && (
        <>
          <RoomMeeting
            app={app}
            room={data}
            link={`${origin}/${segment(room)}`}
            meeting={now.meeting}
            reload={now.reload}
          />
          <RoomForm room={data} root={root} reload={reload} />
          <WebhookSecrets app={app} room={data} />
        </>
      )}
    </Page>
  );
}

function archive({ roomName }: RoomRow, root: string): void {
  confirm({
    title: `Delete the room ${roomName}`,
    text: (
      <p>
        The room is archived: it disappears from every list, its access tokens end, and its name can be used by another
        room. Its recordings stay. It cannot be brought back.
      </p>
    ),
    submit: "Delete the room",
    isDanger: true,
    run: async () => {
      await remove(`${root}/${segment(roomName)}`);
      toast(`${roomName} is deleted.`);
      navigate(root);
    },
  });
}

interface RoomFormProps {
  /** As it is saved now; it may be changed elsewhere while this form is filled in. */
  readonly room: RoomRow;
  readonly root: string;
  readonly reload: () => Promise<void>;
}

function RoomForm({ room, root, reload }: RoomFormProps) {
  const name = useSignal(room.roomName);
  const saved = draftOf(room);
  const draft = useDraft<RoomDraft>(saved);
  const reset = (): void => {
    name.value = room.roomName;
    draft.value = saved;
  };
  const changes = {
    ...changesOf(saved, draft.value),
    ...(name.value !== room.roomName && { roomName: name.value }),
  };
  const count = Object.keys(changes).length;
  const save = async (): Promise<void> => {
    const after = await put<RoomRow>(`${root}/${segment(room.roomName)}`, changes);
    draft.value = draftOf(after);
    toast("The room is saved.");
    if (after.roomName !== room.roomName) return navigate(`${root}/${segment(after.roomName)}`, { replace: true });
    await reload();
  };
  const shared = { draft: draft.value, onChange: (next: RoomDraft) => (draft.value = next) };
  const isDisabled = !mayChange.value;
  const fields = (
    <>
      <Card title="Fields">
        <div class="form">
          <dl class="facts">
            <dt>Id</dt>
            <dd class="row">
              <code>{room._id}</code> <Copy text={room._id} what="id of the room" />
            </dd>
            <dt>Created</dt>
            <dd>
              <Time at={Date.parse(room.created) / 1000} />
            </dd>
          </dl>
          <div class="room-fields">
            <Text
              label="roomName"
              value={name.value}
              onInput={(value) => (name.value = value)}
              isDisabled={isDisabled}
              isRequired
              error={nameProblem(name.value)}
              help="Another name takes effect at once; links with the present one no longer work."
            />
          </div>
          <RoomFields names={OTHER_FIELDS} isDisabled={isDisabled} {...shared} />
        </div>
      </Card>
      <Card title="Webhooks">
        <div class="form">
          <p class="muted">Addresses of your backend. Each gets one kind of event of this room, signed.</p>
          <RoomFields names={WEBHOOK_FIELDS} isDisabled={isDisabled} {...shared} />
        </div>
      </Card>
    </>
  );
  if (isDisabled) return fields;
  return (
    <div class="savable">
      <Form
        submit={count === 0 ? "Saved" : `Save ${count === 1 ? "1 change" : `${count} changes`}`}
        isDisabled={count === 0 || name.value === "" || nameProblem(name.value) !== undefined}
        onSubmit={save}
        {...(count > 0 && { onCancel: reset })}
      >
        {fields}
      </Form>
    </div>
  );
}
