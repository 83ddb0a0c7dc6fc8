/** crypto.randomUUID is only for pages of https; without it no signal would be sent from other pages, which can watch and listen. */
export const randomId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
