/** Whether a stream takes more messages. */
import { Badge } from "../../ui/values.tsx";

export const StreamState = ({ isClosed }: { readonly isClosed: boolean }) => (
  <Badge kind={isClosed ? "" : "good"}>{isClosed ? "closed" : "open"}</Badge>
);
