/** Frames as they travel; the types of those that the service sends, as far as the client reads them. */
export interface Welcome {
  readonly type: "welcome";
  readonly peerId: string;
  /** Unix seconds; `null` for a publishable key. */
  readonly expiresAt: number | null;
  readonly serverTime: number;
  readonly maxMessageSize: number;
  /** What the token carries for this peer alone, such as TURN servers. */
  readonly metadata?: unknown;
  readonly features?: readonly string[];
  readonly connection?: string;
}

export interface Entry {
  readonly peerId: string;
  readonly metadata?: unknown;
  readonly state?: unknown;
  readonly lost?: true;
}

/** Any other frame of the service. */
export interface Frame {
  readonly type: string;
  readonly requestId?: string;
  readonly channel?: string;
  readonly code?: string;
  readonly message?: string;
  readonly from?: string;
  readonly fromMetadata?: unknown;
  readonly data?: unknown;
  readonly pos?: string;
  readonly time?: number;
  readonly id?: string;
  /** A message says that it is replayed; the ack of a subscribe says how many are. */
  readonly replay?: boolean | number;
  readonly recovered?: boolean;
  readonly duplicate?: boolean;
  readonly joined?: readonly Entry[];
  readonly left?: readonly Entry[];
  readonly snapshot?: true;
  readonly changed?: readonly Entry[];
  readonly peers?: number;
  readonly connections?: number;
  readonly messages?: readonly Frame[];
  readonly more?: boolean;
  readonly retryAfterMs?: number;
  readonly expiresAt?: number | null;
  /** In the ack of a renewal. */
  readonly metadata?: unknown;
}

/** A frame that the client sends; the request id is added. */
export interface Request {
  readonly type: string;
  readonly [field: string]: unknown;
}
