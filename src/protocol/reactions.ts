/** Reactions of participants: what the service accepts, and what the meeting page offers. They are names, so that each page chooses its own picture. */
export const REACTIONS = ["thumbsup", "clap", "heart", "laugh", "wow", "party"] as const;
export type Reaction = (typeof REACTIONS)[number];

export const isReaction = (name: unknown): name is Reaction => REACTIONS.some((one) => one === name);
