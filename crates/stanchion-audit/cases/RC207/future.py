import asyncio

_current = None


async def m1(work):
    global _current
    if _current is not None:
        await _current
    _current = asyncio.ensure_future(work())  # expect: RC207 read=8
    await _current
    _current = None
