/** Tests of this version that cannot pass where a node of 0.1.0 answers, each with the reason. */

/** Files of the raw suite whose subject 0.1.0 does not have, or has in another form. */
export const FILES_OF_THIS_VERSION: Readonly<Record<string, string>> = {
  lobby: "visitors are named by a waitId, and hear whether a host is inside; 0.1.0 names them by their ticket",
};

/** Names of tests. They pass or fail, depending on which node they reach. */
export const NEEDS_THIS_VERSION: Readonly<Record<string, string>> = {
  "REST > pages, and what is refused": "JSON of 0.1.0 does not end with a newline",
  "a client that does not read > is closed for direct messages too, and then is peer_not_found":
    "a message that is on its way while its receiver is cut is backend_error after a second, with nodes of any version",
  "a place that is held while the room changes > a visitor who was let in, too":
    "0.1.0 does not look at the room once more when a visitor who was let in connects",
  "a visitor who waits > hears the answer, and can do nothing else": "0.1.0 has no waitId",
  ...Object.fromEntries(
    ["room", "token"].map((of) => [
      `ejectAfterElapsedTimeInSec of the ${of} > warns, then closes with 4021 time; the token does not come back into the meeting`,
      "0.1.0 lets a person connect once more whose time is over",
    ]),
  ),
  "rename > of oneself is shown to all, and is what a resumed join and the record of the meeting have":
    "0.1.0 has no act rename",
};
