/** What a connect token of a room says. The page does not check the signature: it has the token from the service. */
export interface SeatClaims {
  /** The id of the room, which its channels are named by. */
  readonly room: string;
  /** The participantSession, or the waitId of the lobby. */
  readonly id: string;
}

export function claimsOf(token: string): SeatClaims {
  const [, payload = ""] = token.split(".");
  const bytes = Uint8Array.from(atob(payload.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  const { room, id } = JSON.parse(new TextDecoder().decode(bytes)) as Partial<SeatClaims>;
  if (typeof room !== "string" || typeof id !== "string") throw new TypeError("This is no connect token of a room.");
  return { room, id };
}

/** The client adds the path itself. */
export const serviceOf = (connectUrl: string): string => connectUrl.replace(/\/v1\/?$/, "");
