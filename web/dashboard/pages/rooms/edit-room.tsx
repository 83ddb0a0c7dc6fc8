/** The settings of a room. Only those that were changed are saved. */
import { useSignal } from "@preact/signals";
import { roomPage, roomsPage } from "../../address/links.ts";
import { navigate, type PageParameters } from "../../address/router.ts";
import { put, segment } from "../../api/client.ts";
import type { Room } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import { useDraft } from "../../drafts/draft.ts";
import { changesOf, draftOf, type RoomDraft, valuesOf } from "../../drafts/room-draft.ts";
import { CHANGES_EVERY_MS, useLive } from "../../live/live.ts";
import { roomPath } from "../../live/meetings.ts";
import { type RoomService, useRoomService } from "../../live/origin.ts";
import { inWords } from "../../text/room-text.ts";
import { Form } from "../../ui/dialog.tsx";
import { toast } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { Missing } from "../not-found.tsx";
import { RoomGroups } from "./groups.tsx";
import { NameField } from "./name-field.tsx";

export function EditRoom({ at: { app = "", room = "" } }: { readonly at: PageParameters }) {
  const { data, error } = useLive<Room>(roomPath(app, room), { everyMs: CHANGES_EVERY_MS });
  const service = useRoomService(app);
  return (
    <Page
      title={`Settings of ${room}`}
      isForm={mayChange.value}
      isReady={data !== undefined && service !== undefined}
      error={error}
      missing={
        <Missing title={`No room is named “${room}”.`} to={roomsPage(app)} all="All rooms">
          It was renamed or deleted.
        </Missing>
      }
      intro={<a href={roomPage(app, room)}>Back to the room</a>}
    >
      {data && service && <RoomForm app={app} room={data} {...service} />}
    </Page>
  );
}

interface RoomFormProps extends RoomService {
  readonly app: string;
  /** As it is saved now; it may be changed elsewhere while this form is filled in. */
  readonly room: Room;
}

function RoomForm({ app, room, origin, meshMax }: RoomFormProps) {
  const name = useSignal(room.roomName);
  const saved = draftOf(room);
  const draft = useDraft<RoomDraft>(saved);
  const page = (of: string): string => `/apps/${segment(app)}/rooms/${segment(of)}`;
  const changes = {
    ...changesOf(saved, draft.value),
    ...(name.value !== room.roomName && { roomName: name.value }),
  };
  const count = Object.keys(changes).length;
  const save = async (): Promise<void> => {
    const after = await put<Room>(roomPath(app, room.roomName), changes);
    toast("Room saved.");
    navigate(page(after.roomName));
  };
  const isDisabled = !mayChange.value;
  const fields = (
    <>
      <Card>
        <div class="narrow-form">
          <NameField
            value={name.value}
            onInput={(value) => (name.value = value)}
            origin={origin}
            isRequired
            isDisabled={isDisabled}
          >
            If you rename it, links with the old name stop working.
          </NameField>
        </div>
      </Card>
      <RoomGroups
        draft={draft.value}
        onChange={(next) => (draft.value = next)}
        meshMax={meshMax}
        isDisabled={isDisabled}
      />
    </>
  );
  if (isDisabled) return <div class="form">{fields}</div>;
  const { Access, Schedule, Recording } = inWords(valuesOf(draft.value), meshMax);
  return (
    <div class="savable">
      <Form
        submit={count === 0 ? "Save" : `Save ${count === 1 ? "1 change" : `${count} changes`}`}
        isDisabled={count === 0}
        beside={`${Access} ${Schedule} ${Recording}`}
        onSubmit={save}
        onCancel={() => navigate(page(room.roomName))}
      >
        {fields}
      </Form>
    </div>
  );
}
