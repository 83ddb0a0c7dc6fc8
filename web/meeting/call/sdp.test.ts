import { expect, test } from "bun:test";
import { answeredOffer, asAnswerTo, hasUfrag, idOf, sessionOf } from "./sdp.ts";

const sdp = (session: string, version: number): string =>
  ["v=0", `o=- ${session} ${version} IN IP4 127.0.0.1`, "s=-", "t=0 0", "m=audio 9 X 0", "a=ice-ufrag:ab+1", ""].join(
    "\r\n",
  );

test("a description names its connection, and counts", () => {
  expect(sessionOf(sdp("11", 2))).toBe("11");
  expect(idOf(sdp("11", 2))).toBe("11 2");
  expect(sessionOf("")).toBe("");
});

test("an answer carries the id of its offer, and nothing else of it changes", () => {
  const answer = asAnswerTo(sdp("22", 5), sdp("11", 2));
  expect(answeredOffer(answer)).toBe("11 2");
  expect(answer.replace("s=11 2", "s=-")).toBe(sdp("22", 5));
  expect(answeredOffer(sdp("22", 5))).toBe("-");
});

test("a dollar sign in an id is no pattern", () => {
  expect(answeredOffer(asAnswerTo(sdp("22", 5), sdp("$&", 2)))).toBe("$& 2");
});

test("candidates are matched by the whole fragment", () => {
  expect(hasUfrag(sdp("1", 1), "ab+1")).toBe(true);
  expect(hasUfrag(sdp("1", 1), "ab")).toBe(false);
});
