"""One port that stands for several: each new connection goes to the next of them.

Stock clients know one address. Behind it, the connections of one suite are spread over all members
of a group, so that what one connection does is seen, or not seen, through another member.
"""

import asyncio
import threading

PIECE_BYTES = 64 * 1024


class Relay:
    """Listens on a free port of the loopback interface until `close`."""

    def __init__(self, ports):
        self._ports = list(ports)
        self._next = 0
        self._loop = asyncio.new_event_loop()
        self._relaying = set()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._started.wait()

    def _run(self):
        asyncio.set_event_loop(self._loop)
        start = asyncio.start_server(self._accepted, "127.0.0.1", 0)
        self._server = self._loop.run_until_complete(start)
        self.port = self._server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        self._loop.close()

    async def _accepted(self, client_reader, client_writer):
        """Relays one connection. The loop itself holds its tasks by weak references only: one that
        nobody else held would be collected while it waits, and its client left hanging."""
        task = asyncio.current_task()
        self._relaying.add(task)
        try:
            await self._relay(client_reader, client_writer)
        finally:
            self._relaying.discard(task)

    async def _relay(self, client_reader, client_writer):
        port = self._ports[self._next % len(self._ports)]
        self._next += 1
        try:
            broker_reader, broker_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            client_writer.transport.abort()
            return
        up = self._pass_on(client_reader, broker_writer, client_writer)
        down = self._pass_on(broker_reader, client_writer, broker_writer)
        try:
            await asyncio.gather(up, down, return_exceptions=True)
        except asyncio.CancelledError:
            # Cancelled, because what is connected is dropped.
            client_writer.transport.abort()
            broker_writer.transport.abort()
            return
        client_writer.close()
        broker_writer.close()

    async def _pass_on(self, reader, writer, backward):
        """Passes bytes on, and the end as it came: an orderly end as one, a reset as a reset."""
        try:
            while True:
                piece = await reader.read(PIECE_BYTES)
                if not piece:
                    break
                writer.write(piece)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
        except OSError:
            writer.transport.abort()
            backward.transport.abort()

    def drop(self):
        """Drops what is connected and goes on listening."""
        asyncio.run_coroutine_threadsafe(self._drop(), self._loop).result(5)

    async def _drop(self):
        dropped = list(self._relaying)
        for task in dropped:
            task.cancel()
        await asyncio.gather(*dropped, return_exceptions=True)

    def close(self):
        """Stops listening and drops what is still connected."""
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    async def _stop(self):
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
