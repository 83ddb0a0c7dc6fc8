import { OfflineQueue } from "parley-client/queue";
import { ParleyProvider } from "parley-client/react";
import { useMemo, useState } from "react";
import { Login } from "./login.tsx";
import { Room } from "./room.tsx";
import { connectToken, logOut, type Session, savedSession } from "./session.ts";

export function App() {
  const [session, setSession] = useState(savedSession);
  if (!session) return <Login onLogin={setSession} />;
  const leave = () => {
    logOut();
    setSession(undefined);
  };
  return <Connected key={session.user.id} session={session} onLeave={leave} />;
}

function Connected({ session, onLeave }: { session: Session; onLeave: () => void }) {
  const options = useMemo(
    // The queue keeps what is written while there is no connection.
    () => ({ url: session.url, token: () => connectToken(session), queue: new OfflineQueue() }),
    [session],
  );
  return (
    <ParleyProvider options={options}>
      <Room name="rooms/lobby" user={session.user} onLeave={onLeave} />
    </ParleyProvider>
  );
}
