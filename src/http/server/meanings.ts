/**
 * What a field of the API means that means the same wherever it is. Schemas describe what is particular to them; everything else has its
 * text from here, so that the API reference says of each field what it is.
 */

/** By name, or where a name has several meanings, by what it is in: a schema, a field, or a tag of operations. */
const FIELDS: Readonly<Record<string, string>> = {
  // Problems
  success: "Whether the call succeeded",
  message: "What happened, as a sentence",
  "Problem.error": "The error's code, for programs",
  "ApplicationProblem.error": "What went wrong",
  "error.code": "The error's code, for programs",
  "error.details": "What is wrong with each field",
  "details.field": "Name of the field",
  "details.message": "What is wrong with it",

  // Lists
  data: "The entries; of this page, if there are several",
  next: "Pass it as `after` for the next page; null: there is none",
  limit: "Most entries per page",
  total: "How many there are on all pages",

  // Names
  _id: "Its id",
  app: "Id of the application",
  appId: "Id of the application",
  appName: "Name of the application",
  name: "Its name",
  label: "A note to yourself",
  description: "A note to yourself",
  channel: "Name of the channel",
  peerId: "Id of the peer",
  keyId: "Id of the key",
  connectionId: "Id of the connection, as in its `welcome`",
  nodeId: "Id of the node",
  roomName: "Name of the room",
  room: "Id of the room",
  meetingSession: "Id of the meeting",
  participantSession: "Id of one person's stay in a meeting",
  participantUsername: "The participant's name",
  externalUserId: "Your own id of the user, from the access token",
  isAdmin: "May manage the meeting",
  webhookId: "Id of the event, the same in each delivery of it",
  address: "Address of the client",
  version: "Version of Parley",

  // Applications, keys and operators
  plan: "The application's limits",
  "plan.name": "Name of the plan",
  maxConcurrentConnections: "Most connections at a time; null: no limit",
  maxMessagesPerPeriod: "Most messages per calendar month; null: no limit",
  retentionDays: "How many days recordings are kept; null: until they are deleted",
  secretKey: "The application's secret key",
  "keys.type": "`publishable` for browsers and apps, `secret` for backends",
  "Key.type": "`publishable` for browsers and apps, `secret` for backends",
  "CreatedKey.type": "`publishable` for browsers and apps, `secret` for backends",
  "KeyWithConnections.type": "`publishable` for browsers and apps, `secret` for backends",
  channelPatterns: "Patterns of the channels that it covers",
  actions: "What connections with the key may do",
  allowedOrigins: "Origins of web pages that may use the key; `*`: all",
  secret: "The secret. Only this response contains it",
  "CreatedOperator.token": "The operator's token. Only this response contains it",
  "keys.token": "The connect token to check",
  "dashboard.token": "The admin token, or an operator's token",
  "access tokens.token": "The access token to check",
  "connect.token": "The connect token for it",
  role: "`admin`: may change everything; `read`: sees everything but secrets and messages",
  pattern: "Channels whose names match: `*` is any run without `/`, `**` any run",
  history: "Which messages are stored; absent: none",
  graceSec: "Seconds for which a member that lost its connection stays in presence",
  valid: "Whether the token is accepted",
  channels: "Patterns of the channels that it covers",
  permissions: "What it allows",

  // Channels, peers and messages
  peers: "The channel's members",
  "ActiveChannel.peers": "Members on all nodes",
  members: "A page of the channel's members",
  connections: "Open connections",
  metadata: "What its connect token says about it to other members",
  subscriptions: "Channels that it is subscribed to",
  messages: "Messages, as they were published",
  "history.messages": "Stored messages",
  "StoredMessage.data": "The message, as it was published",
  "ChannelHistoryMessage.data": "The message, as it was published",
  from: "Id of the peer that published it; `server` for a backend",
  fromMetadata: "The sender's metadata",
  pos: "Position in the channel's history",
  published: "The message was accepted",
  delivered: "The message was accepted",
  closed: "How many connections were closed",
  deleted: "The stored messages were deleted",

  // Usage
  concurrentNow: "Open connections at this moment",
  peakConcurrent: "Most connections at a time in the period",
  messagesUsed: "Messages that count in the period",
  overageMessages: "Always 0: nothing beyond the plan is accepted",
  overageConnections: "Always 0: nothing beyond the plan is accepted",
  overagesAllowed: "Always false: nothing beyond the plan is accepted",
  overagesEnabled: "Always false: nothing beyond the plan is accepted",
  bytes: "Size in bytes",

  // Rooms and meetings
  archived: "The room was archived: no one can join it",
  roomArchived: "The room was archived",
  active: "The meeting is going on",
  locked: "The meeting is locked: no one new can enter",
  participants: "Everyone who is or was inside",
  endReason: "`left`, `lost` the connection, was out of `time`, the meeting `ended`, or an admin `removed` the person",
  removed: "The participant was removed",
  do: "What to do",
  waiting: "An admin has to admit the visitor first",
  connect: "How to connect to the meeting's channel",
  may: "What the participant may do",
  "may.audio": "Send sound",
  "may.video": "Send video",
  "may.screen": "Share a screen",
  "may.chat": "Write in the chat",
  media: "How sound and pictures travel",
  engine: "`mesh`: directly between participants",
  iceServers: "STUN and TURN servers, for RTCPeerConnection",
  urls: "Address of the server",
  "iceServers.urls": "Addresses of the server",
  username: "Name to sign in to the TURN server",
  credential: "Password for that name",
  password: "Password for that name",
  expiryInSeconds: "How long the credential is valid",

  // Recordings
  "recordings.type": "What was recorded",
  "Recording.type": "What was recorded",
  "ListedRecording.type": "What was recorded",
  "RecordingDetail.type": "What was recorded",
  "DeletedRecording.type": "What was recorded",
  sizeInBytes: "Size of the file",
  recordings: "How many there are",
  "recordings.deleted": "How many were deleted",
  "recordings.expiresInSec": "How long the link works",
  "RecordingLink.url": "The link",

  // Webhooks
  url: "Where events are sent",
  "RoomWebhookSecrets.data": "One entry per URL field that is set",
  "CreatedWebhook.channelPatterns": "Channels that it watches; null: none",
  "Webhook.channelPatterns": "Channels that it watches; null: none",
  disabled: "Sends no events until it is enabled",
  health: "Whether its deliveries succeed",
  "WebhookHealth.delivered": "Events that were delivered",
  lastError: "Why the last attempt failed",
  "WebhookDelivery.type": "Type of the event",
  "WebhookDelivery.error": "Why it failed; null: it succeeded",
  succeeded: "The receiver responded with a 2xx status",
  "webhooks.status": "Only deliveries with this result",
  tookMs: "How long the receiver took, in milliseconds",
  ms: "How long the receiver took, in milliseconds",

  // Operation of the service
  status: "The process responds",
  hasCredentials: "Its address has a user and a password",
  storage: "Where recordings are stored",
  "storage.kind": "`folder` on the node's disk, or an S3-compatible bucket",
  drainSeconds: "PARLEY_DRAIN_SECONDS",
  httpRequestsPerMinutePerIp: "PARLEY_HTTP_REQUESTS_PER_MINUTE_PER_IP; 0: no limit",
  framesPerSecond: "PARLEY_FRAMES_PER_SECOND; 0: no limit",
  restRequestsPerSecond: "PARLEY_REST_REQUESTS_PER_SECOND; 0: no limit",
  lastSuccess: "The newest backup that succeeded; null: none has",
  lastFailure: "The newest backup that failed; null: none has",
  "target.kind": "Where backups go",
  place: "Where the backup goes",
  who: "Who made the change",
  what: "What was done",
  on: "What it was done to",
  after: "The new value; never a secret",
  places: "Where it is stored",
  "places.id": "Id of the place",
  "KeptData.id": "Id of this kind of data",
  title: "Name of this kind of data",
  holds: "What it contains",
  "change.command": "A command that changes it",
  source: "Where the value comes from",
  default: "The value without a setting",
  meaning: "What it does",
  checks: "Every check, in the order in which they are made",
  "checks.name": "Name of the check",
  result: "`not reached`: an earlier check refuses",
  why: "Why it refuses",
  allowed: "All checks pass",
  store: "Whether the node reaches the store",
  metric: "What was measured",
  stepSec: "Seconds between two values",
  nodes: "The values of each node",
  "TailEvent.kind": "What happened",
};

/** Ids in a path, by what is before them. */
const PATH_IDS: Readonly<Record<string, string>> = {
  operators: "Id of the operator",
  recordings: "Id of the recording",
  recording: "Id of the recording",
  upload: "Id of the upload, which is that of its recording",
  file: "Id of the recording",
  meetings: "Id of the meeting",
  meeting: "Id of the meeting",
  webhooks: "Id of the webhook",
};

const PATHS: Readonly<Record<string, string>> = {
  app: "Id or name of the application",
  name: "Name of the backup",
  delivery: "Id of the delivery",
};

/** Fields whose names are not fixed, by what they are in. */
const ANY_NAMES: Readonly<Record<string, string>> = {
  headers: "Value of the header",
  byReason: "The values of one reason; null: not known",
};

export function meaningOfPath(name: string, path: string): string | undefined {
  const [, before = ""] = new RegExp(`([^/]+)/:${name}(?:/|$)`).exec(path) ?? [];
  return (name === "id" ? PATH_IDS[before] : undefined) ?? PATHS[name] ?? FIELDS[name];
}

/** The parts of a JSON schema that lead to fields. */
interface Node {
  description?: string;
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: Node | boolean;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
  readonly oneOf?: readonly Node[];
  readonly allOf?: readonly Node[];
}

/** Adds what its own texts leave out. `inside` names what the schema is: its id, or the tag of its operation. */
export function addMeanings(schema: object, inside: string): void {
  addTo(schema as Node, [inside]);
}

function addTo(node: Node, trail: readonly string[]): void {
  for (const [name, field] of Object.entries(node.properties ?? {})) {
    if (!isDescribed(field)) {
      const meaning = meaningIn(trail, name);
      if (meaning !== undefined) field.description = meaning;
    }
    addTo(field, [...trail, name]);
  }
  const { additionalProperties: rest } = node;
  if (typeof rest === "object" && Object.keys(rest).length > 0) {
    const meaning = ANY_NAMES[trail.at(-1) ?? ""];
    if (meaning !== undefined && !isDescribed(rest)) rest.description = meaning;
    addTo(rest, trail);
  }
  for (const one of [node.items, ...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])])
    if (one) addTo(one, trail);
}

/** The nearest first. */
function meaningIn(trail: readonly string[], name: string): string | undefined {
  for (const inside of trail.toReversed()) {
    const meaning = FIELDS[`${inside}.${name}`];
    if (meaning !== undefined) return meaning;
  }
  return FIELDS[name];
}

const isDescribed = (node: Node): boolean =>
  node.description !== undefined || [...(node.anyOf ?? []), ...(node.oneOf ?? [])].some(isDescribed);
