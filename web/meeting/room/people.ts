/** Members of the room's channel as the page sees them. */
import type { Member } from "../../../client/src/events/types.ts";
import type { MemberState } from "../../../client/src/state.ts";
import type { Person, PersonState } from "./contract.ts";

/** The service has written it. */
export type Metadata = Readonly<Record<string, unknown>> | undefined;

export const nameOf = (metadata: Metadata): string => (typeof metadata?.name === "string" ? metadata.name : "");

/** The state is what the participant's page has sent, and may be anything. */
export function personOf(
  { peerId, metadata }: Member<Metadata>,
  known: MemberState<Partial<PersonState>> | undefined,
): Person {
  const state = known?.state ?? {};
  return {
    participantSession: peerId,
    name: nameOf(metadata),
    isAdmin: metadata?.isAdmin === true,
    isGuest: metadata?.isGuest === true,
    state: {
      audio: state.audio === true,
      video: state.video === true,
      screen: state.screen === true,
      hand: state.hand === true,
      recording: state.recording === true,
    },
    isLost: known?.lost === true,
  };
}
