/**
 * What is read from session descriptions. Their `o=` line has an id of the RTCPeerConnection and a version that counts its descriptions: by
 * them a page notices that another one has begun anew. An answer does not say which offer it answers, so its `s=` line, which browsers
 * do not use, carries that: an answer to an offer of an earlier connection would otherwise be taken for one to the present offer.
 */

/** The id of the RTCPeerConnection that has made it. */
export const sessionOf = (sdp: string): string => /^o=\S+ (\S+)/m.exec(sdp)?.[1] ?? "";

/** The id of this very description. */
export const idOf = (sdp: string): string => /^o=\S+ (\S+ \S+)/m.exec(sdp)?.[1] ?? "";

/** The answer, with the id of its offer. */
export const asAnswerTo = (answer: string, offer: string): string =>
  answer.replace(/^s=.*$/m, () => `s=${idOf(offer)}`);

/** The id of the offer that it answers. */
export const answeredOffer = (answer: string): string => /^s=(.*?)\r?$/m.exec(answer)?.[1] ?? "";

/** Candidates name the one that they belong to. */
export const hasUfrag = (sdp: string, ufrag: string): boolean =>
  sdp.split(/\r?\n/).some((line) => line === `a=ice-ufrag:${ufrag}`);
