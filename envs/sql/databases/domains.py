"""The domains of databases: schemas in the notation of `relations.read_domain`, and pools of names.

Columns with similar names (price, list_price, unit_cost) stand together on purpose: to tell them apart is part of the
task.
"""

from __future__ import annotations

import functools

from .relations import Schema, read_domain

POOLS = {
    "person": (
        "Ann Lee, Bo Berg, Cleo Diaz, Dan Roth, Eve Moss, Finn Hale, Gina Ruiz, Hugo Park, Ida Wolf, Jack Stone, "
        "Kim Chen, Lea Brandt, Max Hale, Nora Lee, Omar Haddad, Pia Moss, Quinn Berg, Rosa Diaz"
    ),
    "city": "Oslo, Lima, Cairo, Turin, Porto, Quito, Kyoto, Accra, Perth, Basel",
    "place": "North Hall, Harbour, Old Mill, Riverside, Market Square, Hilltop, Station Road, West End, The Green",
    "brand": "Acorn, Bluefin, Cedar, Delta, Ember, Falcon, Granite, Harvest, Iris, Juniper, Kestrel, Lumen",
    "title": (
        "Silent River, Last Train, Paper Moon, Cold Harbour, Golden Hour, Second Wind, Glass House, Night Garden, "
        "Long Way Home, Red Door, Open Sea, Winter Light, Lost Letters, High Noon"
    ),
    "subject": "Algebra, Botany, Chemistry, Drawing, Economics, French, Geology, History, Logic, Music, Optics",
    "dish": "Lentil Soup, Green Salad, Fish Pie, Beef Stew, Rice Bowl, Plum Cake, Onion Tart, Corn Bread, Pea Risotto",
    "illness": "Asthma, Bronchitis, Fracture, Influenza, Migraine, Sprain, Tonsillitis, Burn",
    "part": "Bolt, Bearing, Gasket, Lever, Panel, Piston, Spring, Valve, Washer, Motor",
}

_DOMAINS = """
# shop
region | region | regions
    name name city | name
    climate? pick mild, dry, wet | climate
store | store | stores | region
    name name place | name
    floor_area int 80 400 20 | floor area
    opened_on date | opening date
    ~ renovated_on? date | renovation date
supplier | supplier | suppliers
    name name brand | name
    rating? int 1 5 1 | rating
    ~ city name city | city
category | category | categories
    name pick garden, kitchen, toys, books | name
    ~ label? pick basic, seasonal, premium | label
product | product | products | category, supplier?
    name name part | name
    price real 2 40 2.5 | price
    stock? int 0 30 3 | stock
    ~ list_price real 2 45 2.5 | list price
    ~ unit_cost? real 1 30 2.5 | unit cost
customer | customer | customers | region?
    name name person | name
    segment pick retail, trade, public | segment
    signed_up_on? date | sign-up date
    ~ credit_limit? int 0 900 100 | credit limit
sale | sale | sales | product, store, customer?
    quantity int 1 9 1 | quantity
    sold_on date | sale date
    discount? int 5 30 5 | discount
    ~ shipped_on? date | shipping date
    ~ channel pick counter, phone, web | channel
refund | refund | refunds | sale
    amount real 1 40 1.5 | amount
    reason? pick damaged, late, unwanted | reason
    ~ refunded_on date | refund date
# hospital
ward | ward | wards
    name name place | name
    beds int 4 20 2 | number of beds
    ~ floor int 0 6 1 | floor
doctor | doctor | doctors | ward?
    name name person | name
    grade pick junior, senior, chief | grade
    hired_on date | hiring date
    ~ salary? real 30 90 5.5 | salary
patient | patient | patients
    name name person | name
    born_on date 1960 | birth date
    city? name city | city
    ~ blood_group? pick A, B, AB, O | blood group
illness | illness | illnesses
    name name illness | name
    severity int 1 5 1 | severity
    ~ risk? int 1 5 1 | risk
stay | stay | stays | patient, ward, doctor?
    admitted_on date | admission date
    discharged_on? date | discharge date
    cost real 50 900 50.5 | cost
    ~ charge? real 50 950 50.5 | charge
diagnosis | diagnosis | diagnoses | stay, illness
    stated_on date | statement date
    certainty? pick likely, sure, unclear | certainty
    ~ confirmed_on? date | confirmation date
drug | drug | drugs
    name name brand | name
    unit_price real 1 20 1.5 | unit price
    ~ pack_price? real 5 60 2.5 | pack price
prescription | prescription | prescriptions | stay, drug, doctor?
    dose int 5 50 5 | dose
    days? int 1 14 1 | number of days
    ~ started_on date | starting date
# university
faculty | faculty | faculties
    name pick Science, Arts, Law, Medicine | name
    founded int 1850 1990 20 | founding year
teacher | teacher | teachers | faculty
    name name person | name
    title? pick lecturer, reader, professor | title
    joined_on date | joining date
    ~ retired_on? date | retirement date
course | course | courses | teacher?, faculty
    name name subject | name
    credits int 2 12 2 | number of credits
    level pick basic, advanced | level
    ~ hours? int 20 90 10 | number of hours
student | student | students | faculty?
    name name person | name
    enrolled_on date | enrolment date
    city? name city | city
    ~ born_on? date 1980 | birth date
enrolment | enrolment | enrolments | student, course
    grade? int 1 10 1 | grade
    started_on date | starting date
    ~ points? int 0 60 5 | number of points
room | room | rooms
    name name place | name
    seats int 10 120 10 | number of seats
    ~ capacity int 12 140 10 | capacity
lesson | lesson | lessons | course, room?
    held_on date | lesson date
    attendance? int 0 60 4 | attendance
    ~ topic? name title | topic
exam | exam | exams | course, room
    held_on date | exam date
    duration int 30 180 30 | duration
    ~ length? int 30 180 30 | length
# library
branch | branch | branches
    name name place | name
    city name city | city
    ~ opened_on? date | opening date
author | author | authors
    name name person | name
    country? pick Peru, Japan, Norway, Egypt | country
    ~ born int 1900 1990 10 | birth year
book | book | books | author
    title name title | title
    genre pick novel, poetry, travel, science | genre
    pages? int 80 600 40 | number of pages
    published int 1960 2020 5 | publication year
    ~ printed? int 1965 2023 5 | printing year
volume | copy | copies | book, branch?
    condition pick good, worn, new | condition
    bought_on date | purchase date
    ~ price? real 4 30 1.5 | price
member | member | members | branch?
    name name person | name
    joined_on date | joining date
    age? int 12 80 4 | age
loan | loan | loans | volume, member
    lent_on date | lending date
    returned_on? date | return date
    fine? real 0 6 0.5 | fine
    ~ due_on date | due date
# airline
airport | airport | airports
    city name city | city
    runways int 1 5 1 | number of runways
    ~ altitude? int 0 2400 200 | altitude
plane | plane | planes
    model name brand | model
    seats int 20 300 20 | number of seats
    built int 1995 2020 5 | construction year
    ~ bought? int 1996 2022 5 | purchase year
flight | flight | flights | airport, plane?
    flown_on date | flight date
    distance int 200 4000 200 | distance
    delay? int 0 90 10 | delay
    ~ duration? int 1 12 1 | duration
passenger | passenger | passengers
    name name person | name
    status pick none, silver, gold | status
    miles? int 0 900 100 | number of miles
booking | booking | bookings | flight, passenger
    fare real 40 600 40.5 | fare
    seat_class pick economy, business, first | seat class
    booked_on date | booking date
    ~ tax? real 4 60 4.5 | tax
bag | bag | bags | booking
    weight real 4 30 1.5 | weight
    colour? pick black, blue, red | colour
    ~ fee? real 0 60 10 | fee
# music
label | label | labels
    name name brand | name
    city? name city | city
artist | artist | artists | label?
    name name person | name
    genre pick jazz, rock, folk, soul | genre
    debut int 1980 2020 5 | debut year
album | album | albums | artist
    title name title | title
    released_on date | release date
    rating? real 1 5 0.5 | rating
    ~ score? int 10 100 10 | score
track | track | tracks | album
    title name title | title
    seconds int 120 420 20 | number of seconds
    price? real 0.5 2 0.25 | price
    ~ bonus? pick yes, no | bonus mark
stream | stream | streams | track
    played_on date | playing date
    device pick phone, desktop, car | device
    skipped_after? int 5 200 15 | skipping time
    ~ country? pick Peru, Japan, Norway, Egypt | country
# league
venue | venue | venues
    name name place | name
    capacity int 500 9000 500 | capacity
club | club | clubs | venue?
    name name city | name
    founded int 1890 1990 10 | founding year
    budget? real 1 30 1.5 | budget
player | player | players | club?
    name name person | name
    position pick forward, midfield, defence, goal | position
    born_on date 1960 | birth date
    wage? real 1 20 1.5 | wage
    ~ bonus? real 0 5 0.5 | bonus
game | game | games | venue, club
    held_on date | game date
    spectators? int 100 8000 400 | number of spectators
    goals int 0 6 1 | number of goals
    ~ shots? int 0 20 2 | number of shots
appearance | appearance | appearances | player, game
    minutes int 5 90 5 | number of minutes
    goals int 0 3 1 | number of goals
    rating? real 1 10 0.5 | rating
# factory
plant | plant | plants
    city name city | city
    area int 200 2000 200 | area
machine | machine | machines | plant
    model name brand | model
    power int 5 60 5 | power
    installed_on date | installation date
    serviced_on? date | servicing date
    ~ inspected_on? date | inspection date
worker | worker | workers | plant?
    name name person | name
    trade pick fitter, welder, painter | trade
    wage real 12 40 2.5 | wage
    ~ allowance? real 0 9 1.5 | allowance
item | item | items
    name name part | name
    weight? real 0.5 12 0.5 | weight
    ~ gross_weight? real 1 14 0.5 | gross weight
run | run | runs | machine, item, worker?
    started_on date | starting date
    produced int 10 200 10 | output
    rejected? int 0 20 2 | number of rejects
    ~ reworked? int 0 15 1 | number of reworked pieces
# restaurant
kitchen | kitchen | kitchens
    name name place | name
    stoves int 2 9 1 | number of stoves
dish | dish | dishes | kitchen
    name name dish | name
    course pick starter, main, dessert | course
    price real 4 30 1.5 | price
    ~ cost? real 1 20 1.5 | cost
serving | serving | servings | dish
    served_on date | serving date
    guests int 1 8 1 | number of guests
    tip? real 0 9 0.5 | tip
    ~ rating? int 1 5 1 | rating
"""


@functools.cache
def read_domains() -> tuple[Schema, ...]:
    """Read all domains."""
    found = []
    for text in _DOMAINS.split("# ")[1:]:
        name, *lines = text.split("\n")
        found.append(read_domain(name.strip(), lines))
    return tuple(found)
