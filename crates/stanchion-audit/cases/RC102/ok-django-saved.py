from django.db import models
from django.db.models import F
from django.http import HttpResponse


class Seat(models.Model):
    uses = models.IntegerField()
    label = models.TextField()


def used(request, seat_id):
    seat = Seat.objects.get(pk=seat_id)
    seat.uses = F("uses") + 1
    seat.save(update_fields=["uses"])
    return HttpResponse("ok")


def renamed(request, seat_id):
    seat = Seat.objects.get(pk=seat_id)
    seat.label = request.POST["label"]
    seat.save(update_fields=["label"])
    return HttpResponse("ok")
