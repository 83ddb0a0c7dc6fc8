/**
 * Recovery for the unmodified public SDK: after a reconnect it gets what was published while it was away, on channels with history.
 *
 *   new SignallingClient({ …, webSocketFactory: recovering({ onGap: (channel) => reload(channel) }) })
 *
 * One call per client: what it returns knows the client's positions.
 */
export function recovering({ open = (url) => new WebSocket(url), onGap = () => {} } = {}) {
  /** The position behind what the client has received, by channel; only channels with history have one. */
  const positions = new Map();
  let connection;
  let newest;

  return (url) => {
    const socket = open(url);
    newest = socket;
    const send = socket.send.bind(socket);
    const earlier = connection;
    const subscribes = new Map();
    const replays = new Map();

    socket.send = (text) => {
      const frame = JSON.parse(text);
      if (frame.type === "unsubscribe") positions.delete(frame.channel);
      if (frame.type !== "subscribe") return send(text);
      const recover = positions.get(frame.channel);
      subscribes.set(frame.requestId, { channel: frame.channel, recover });
      send(JSON.stringify({ ...frame, ...(recover && { recover, connection: earlier }) }));
    };

    // Registered before the SDK's own listener: the position is known before the application gets the message.
    socket.addEventListener("message", ({ data }) => {
      // The SDK ignores what still comes from a socket that it has replaced.
      if (socket !== newest) return;
      const frame = JSON.parse(data);
      if (frame.type === "welcome") connection = frame.connection;
      else if (frame.type === "message") received(frame);
      else if (frame.type === "ack" && subscribes.has(frame.requestId)) subscribed(frame);
    });

    function subscribed({ requestId, pos, recovered, replay = 0 }) {
      const { channel, recover } = subscribes.get(requestId);
      subscribes.delete(requestId);
      if (pos === undefined) positions.delete(channel);
      else if (replay > 0) replays.set(channel, { left: replay, pos });
      // An ack without `recovered` to a subscribe with `recover` repeats a subscription: its position is newer.
      else if (recovered !== undefined || recover === undefined) positions.set(channel, pos);
      if (recover !== undefined && (recovered === false || pos === undefined)) onGap(channel);
    }

    function received({ channel, pos, replay }) {
      if (!positions.has(channel)) return;
      const rest = replay ? replays.get(channel) : undefined;
      // Messages that this client has published itself are left out of a replay: only its end is behind them.
      positions.set(channel, rest && --rest.left === 0 ? rest.pos : pos);
    }

    return socket;
  };
}
