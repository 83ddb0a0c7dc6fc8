/** Terms of the pages that a newcomer may not know, and what they mean. docs/glossary.md has those of the whole service. */
export const TERMS = {
  frameToPublish:
    "The time from the arrival of a message at a node until the node has passed it on to all its receivers. p50: half of the messages took at most this long. p99: 99 of 100 did.",
  deliveries:
    "Messages in are those that clients and your backend publish or send. Deliveries out are their copies: one message to 50 subscribers is 50 deliveries.",
  errorFrames:
    "Requests of connected clients that were refused, such as a publish without the permission for its channel. Refused connects are counted separately.",
  loopLag:
    "How late the node gets to its work: the longest delay of its event loop in the last few seconds. Messages wait that long.",
  links:
    "Whether the node reaches what it shares with the other nodes: NATS, which carries messages between them, and the store.",
  framesPerSec:
    "A frame is one WebSocket message between the client and the service, such as a publish or a subscribe.",
  mended:
    "Browsers record files without a length and an index. The service adds both when a recording is complete, so that players can seek in it.",
  completed: "When all parts of the file had arrived, and the recording appeared in lists.",
  meetingSession: "The id of the meeting in the API. All recordings of one meeting have the same.",
  participantSession:
    "The id of one person's stay in the meeting in the API. Someone who leaves and comes back has another.",
  deliveryNumber: "Events of a webhook are numbered in order, so that your backend can see whether one is missing.",
  peer: "A peer is one user or program, known by its peer id. It may have several connections at once, such as two tabs.",
  stream:
    "A stream is a channel that stores what is written to it until it is deleted or expires. Clients write and read it over HTTP, and can subscribe to it.",
  streamExpires: "When the stream is deleted if it is neither read nor written over HTTP before.",
  producerEpoch: "A writer that starts again takes the next epoch: from then on, writes of earlier ones are refused.",
} as const;
