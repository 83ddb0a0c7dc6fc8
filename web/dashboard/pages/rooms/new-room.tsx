/** Creating a room: what it starts with, its name, and all else. */
import { useSignal } from "@preact/signals";
import { roomsPage } from "../../address/links.ts";
import { navigate, type PageParameters } from "../../address/router.ts";
import { post, segment } from "../../api/client.ts";
import type { Room } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import { changesOf, draftOf, valuesOf } from "../../drafts/room-draft.ts";
import { PRESET_NAMES, PRESETS, presetsOf, withPreset } from "../../drafts/room-presets.ts";
import { useRoomService } from "../../live/origin.ts";
import { inWords } from "../../text/room-text.ts";
import { Switches } from "../../ui/choices.tsx";
import { Form } from "../../ui/dialog.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { RoomGroups } from "./groups.tsx";
import { NameField } from "./name-field.tsx";

const UNSET = draftOf({});

export function NewRoom({ at: { app = "" } }: { readonly at: PageParameters }) {
  const service = useRoomService(app);
  return (
    <Page title="New room" isForm isReady={service !== undefined} intro={<a href={roomsPage(app)}>All rooms</a>}>
      {!mayChange.value && (
        <Notice>You can see everything, but not make changes: ask an operator with the role admin.</Notice>
      )}
      {service && mayChange.value && <CreateRoom app={app} {...service} />}
    </Page>
  );
}

interface CreateRoomProps {
  readonly app: string;
  readonly origin: string;
  readonly meshMax: number;
}

function CreateRoom({ app, origin, meshMax }: CreateRoomProps) {
  const root = `/apps/${segment(app)}/rooms`;
  const name = useSignal("");
  const draft = useSignal(UNSET);
  const create = async (): Promise<void> => {
    const body = { ...changesOf(UNSET, draft.value), ...(name.value !== "" && { roomName: name.value }) };
    const made = await post<Room>(root, body);
    navigate(`${root}/${segment(made.roomName)}`);
  };
  const { Access, Schedule, Recording } = inWords(valuesOf(draft.value), meshMax);
  return (
    <div class="savable">
      <Form
        submit="Create room"
        beside={`${Access} ${Recording} ${Schedule}`}
        onSubmit={create}
        onCancel={() => navigate(root)}
      >
        <Card>
          <div class="form">
            <Switches
              label="Start with"
              chosen={presetsOf(draft.value)}
              options={PRESET_NAMES.map((value) => ({ value, ...PRESETS[value] }))}
              onChange={(preset, isOn) => (draft.value = withPreset(draft.value, preset, isOn))}
            />
            <div class="narrow-form">
              <NameField value={name.value} onInput={(value) => (name.value = value)} origin={origin}>
                If you leave it empty, the room gets ten random letters.
              </NameField>
            </div>
          </div>
        </Card>
        <RoomGroups draft={draft.value} onChange={(next) => (draft.value = next)} meshMax={meshMax} />
      </Form>
    </div>
  );
}
