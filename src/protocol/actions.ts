/** The four actions a peer may take. A set of actions is a bit mask, so that a check is one AND. */
export const ACTIONS = ["publish", "subscribe", "presence", "send"] as const;

export type Action = (typeof ACTIONS)[number];
export type ActionSet = number;

export const bitOf = (action: Action): ActionSet => 1 << ACTIONS.indexOf(action);

export const isAction = (value: unknown): value is Action => ACTIONS.includes(value as Action);

export function actionSet(actions: readonly Action[]): ActionSet {
  let set = 0;
  for (const action of actions) set |= bitOf(action);
  return set;
}

export const actionList = (set: ActionSet): Action[] => ACTIONS.filter((action) => set & bitOf(action));

export const isSubset = (part: ActionSet, whole: ActionSet): boolean => (part & ~whole) === 0;
