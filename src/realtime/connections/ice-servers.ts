/** ICE servers in the metadata of a welcome: for keys with the field `turn`, and for people in rooms, whose renewals bring new ones. */
import type { Grant } from "../../access/admission/admit.ts";
import type { Address } from "../../base/address.ts";
import { scanObject } from "../../protocol/scan.ts";

/** JSON of the ICE servers for one connection, with fresh credentials; undefined: the service has none. */
export type IceServersOf = (grant: Pick<Grant, "spaceId" | "peerId" | "seat">, client: Address) => string | undefined;

const FIELD = "iceServers";

/** Whether a token's metadata brings its own: they are passed on, and none are added. */
export const bringsIceServers = (metadataJson: string): boolean => scanObject(metadataJson, FIELD).start >= 0;

/** Adds them to the text of the metadata, an object that does not have them; the rest stays as it is, byte for byte. */
export function withIceServers(metadataJson: string | undefined, iceServersJson: string): string {
  const field = `"${FIELD}":${iceServersJson}`;
  if (metadataJson === undefined) return `{${field}}`;
  const end = metadataJson.lastIndexOf("}");
  const isEmpty = scanObject(metadataJson, FIELD).keys === 0;
  return `${metadataJson.slice(0, end)}${isEmpty ? "" : ","}${field}${metadataJson.slice(end)}`;
}
