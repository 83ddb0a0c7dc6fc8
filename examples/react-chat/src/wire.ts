/** A message of this chat. */
export interface Text {
  readonly text: string;
}

/** What the backend puts into a token about its user, for the other members. */
export interface Person {
  readonly name: string;
}

/** What members say about themselves. */
export interface Activity {
  readonly typing: boolean;
}
