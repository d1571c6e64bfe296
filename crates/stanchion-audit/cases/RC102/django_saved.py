from django.db import models
from django.http import HttpResponse


class Seat(models.Model):
    uses = models.IntegerField()
    label = models.TextField()


def used(request, seat_id):
    seat = Seat.objects.get(pk=seat_id)
    seat.uses = seat.uses + 1
    seat.save(update_fields=["uses"])  # expect: RC102 read=11
    return HttpResponse("ok")
