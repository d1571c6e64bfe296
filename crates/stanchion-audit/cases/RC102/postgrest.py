import os

from supabase import create_client

client = create_client(os.environ["URL"], os.environ["KEY"])


def pay(account_id: str, amount: int) -> None:
    row = client.table("accounts").select("balance").eq("id", account_id).single().execute()
    left = row.data["balance"] - amount
    client.table("accounts").update({"balance": left}).eq("id", account_id).execute()  # expect: RC102 read=9
